-- What a client may have at a time, and how it is shown to people. NULL: the usual quota.
ALTER TABLE clients ADD COLUMN max_keys INTEGER CHECK (max_keys >= 0);
ALTER TABLE clients ADD COLUMN max_open_sessions INTEGER CHECK (max_open_sessions >= 0);
ALTER TABLE clients ADD COLUMN logo BLOB;
ALTER TABLE clients ADD COLUMN logo_type TEXT;

CREATE TABLE client_origins (
    client_id TEXT NOT NULL REFERENCES clients (id),
    origin    TEXT NOT NULL,
    added_at  INTEGER NOT NULL,
    PRIMARY KEY (client_id, origin)
) STRICT, WITHOUT ROWID;

-- Counted with the sessions, and anew whenever a gateway starts.
CREATE TABLE open_sessions (
    client_id TEXT PRIMARY KEY REFERENCES clients (id),
    count     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys are listed in the order in which they were made; those that ended are removed in time.
DROP INDEX api_keys_of_client;
CREATE INDEX api_keys_of_client ON api_keys (client_id);
CREATE INDEX api_keys_live ON api_keys (client_id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_ended ON api_keys (coalesce(revoked_at, expires_at))
    WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL;

-- How much of the beginning of each chain was removed when it was old: signed.
CREATE TABLE audit_removals (
    client_id TEXT PRIMARY KEY,
    signed    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
