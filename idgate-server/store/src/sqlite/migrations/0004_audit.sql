-- The audit log: one chain per client, and nothing in it that names a person.

CREATE TABLE audit_entries (
    client_id  TEXT NOT NULL,
    seq        INTEGER NOT NULL,  -- dense, from 1
    fields     TEXT NOT NULL,     -- RFC 8785 JSON: what entry_hash covers besides prev_hash
    prev_hash  BLOB NOT NULL,
    entry_hash BLOB NOT NULL,
    PRIMARY KEY (client_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_heads (
    client_id       TEXT PRIMARY KEY,
    seq             INTEGER NOT NULL,
    entry_hash      BLOB NOT NULL,
    checkpoint_seq  INTEGER NOT NULL,  -- 0: no checkpoint yet
    checkpoint_hash BLOB NOT NULL,
    open_since      INTEGER,           -- since when there are entries after the checkpoint
    mac             BLOB NOT NULL      -- over all of it, with the instance key
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_heads_open ON audit_heads (open_since) WHERE open_since IS NOT NULL;

-- One row: how many entries all chains have together.
CREATE TABLE audit_total (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    entries INTEGER NOT NULL,
    mac     BLOB NOT NULL
) STRICT;

CREATE TABLE audit_checkpoints (
    client_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    signed    TEXT NOT NULL,                -- the checkpoint with its signature, JSON
    written   INTEGER NOT NULL DEFAULT 0,   -- whether the checkpoint file has it
    PRIMARY KEY (client_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_checkpoints_unwritten ON audit_checkpoints (client_id, seq) WHERE written = 0;
