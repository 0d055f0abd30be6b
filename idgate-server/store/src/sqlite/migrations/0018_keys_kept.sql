-- A key that retires signs on for the sessions that were made with it. Its private half goes when the
-- last of them is over, which is published_until.
CREATE TABLE gateway_keys_kept (
    version         INTEGER PRIMARY KEY,  -- from 1, dense
    id              TEXT NOT NULL UNIQUE, -- RFC 7638 thumbprint
    sec1            BLOB NOT NULL CHECK (length(sec1) = 65),
    sealed          BLOB,                 -- PKCS #8; NULL: signs for nobody any more
    created_at      INTEGER NOT NULL,
    retired_at      INTEGER,              -- NULL: signs for new sessions
    published_until INTEGER,              -- the last expiry of the sessions open at retired_at
    CHECK (sealed IS NOT NULL OR retired_at IS NOT NULL),
    CHECK ((retired_at IS NULL) = (published_until IS NULL))
) STRICT;
INSERT INTO gateway_keys_kept
SELECT version, id, sec1, sealed, created_at, retired_at, published_until FROM gateway_keys;
DROP TABLE gateway_keys;
ALTER TABLE gateway_keys_kept RENAME TO gateway_keys;
