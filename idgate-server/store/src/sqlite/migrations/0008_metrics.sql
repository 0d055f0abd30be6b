-- Live-mode sessions that settled, summed up by the hour (hours since 1970).

CREATE TABLE metrics_hours (
    hour       INTEGER PRIMARY KEY,
    verified   INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    expired    INTEGER NOT NULL,
    latency    BLOB NOT NULL,  -- a sketch of milliseconds from creation to the answer's verdict
    processing BLOB NOT NULL   -- a sketch of microseconds that verifications took
) STRICT;

CREATE TABLE metrics_types (
    hour            INTEGER NOT NULL,
    credential_type TEXT NOT NULL,
    verified        INTEGER NOT NULL,
    failed          INTEGER NOT NULL,
    expired         INTEGER NOT NULL,
    PRIMARY KEY (hour, credential_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics_errors (
    hour       INTEGER NOT NULL,
    error_code TEXT NOT NULL,
    sessions   INTEGER NOT NULL,
    PRIMARY KEY (hour, error_code)
) STRICT, WITHOUT ROWID;
