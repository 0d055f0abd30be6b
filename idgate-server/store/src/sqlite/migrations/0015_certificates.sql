-- Keys that certificates were asked for, and the certificates that were made for them. `client_id`
-- '' is the gateway, which also signs for clients without a certificate of their own.
CREATE TABLE certificate_keys (
    id         TEXT PRIMARY KEY,  -- RFC 7638 thumbprint
    client_id  TEXT NOT NULL,
    sec1       BLOB NOT NULL CHECK (length(sec1) = 65),
    sealed     BLOB NOT NULL,     -- PKCS #8
    created_at INTEGER NOT NULL,
    used       INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1))  -- 0: waits for its certificate
) STRICT;

CREATE TABLE certificates (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    hash        TEXT NOT NULL UNIQUE,  -- base64url of the SHA-256 of the first certificate
    client_id   TEXT NOT NULL,
    key_id      TEXT NOT NULL REFERENCES certificate_keys (id),
    chain       BLOB NOT NULL,         -- DER, one after another, leaf first
    imported_at INTEGER NOT NULL,
    replaced_at INTEGER                -- NULL: in force
) STRICT;

CREATE UNIQUE INDEX certificates_in_force ON certificates (client_id) WHERE replaced_at IS NULL;

-- Goes up with every change that a running gateway has to see.
CREATE TABLE certificates_version (
    only    INTEGER PRIMARY KEY DEFAULT 1 CHECK (only = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO certificates_version (version) VALUES (1);
