-- What the operator's own programs prove themselves with.
CREATE TABLE admin_tokens (
    id         TEXT PRIMARY KEY,
    name       TEXT,
    digest     BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
