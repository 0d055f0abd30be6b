-- Keys that sign for the gateway. The newest signs; the private half of the others is gone.
CREATE TABLE gateway_keys (
    version         INTEGER PRIMARY KEY,  -- from 1, dense
    id              TEXT NOT NULL UNIQUE, -- RFC 7638 thumbprint
    sec1            BLOB NOT NULL CHECK (length(sec1) = 65),
    sealed          BLOB,                 -- PKCS #8; NULL: retired
    created_at      INTEGER NOT NULL,
    retired_at      INTEGER,
    published_until INTEGER,              -- the last expiry of the sessions open at retired_at
    CHECK ((sealed IS NULL) = (retired_at IS NOT NULL)),
    CHECK ((retired_at IS NULL) = (published_until IS NULL))
) STRICT;
