-- Times are milliseconds since 1970-01-01 UTC. Columns called `sealed` and `record` hold what only
-- the instance key opens.

CREATE TABLE instance (
    name   TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE clients (
    id             TEXT PRIMARY KEY,
    name           TEXT NOT NULL,
    livemode       INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    signing_secret BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    revoked_at     INTEGER
) STRICT;

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    client_id    TEXT NOT NULL REFERENCES clients (id),
    digest       BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    hint         TEXT NOT NULL,
    name         TEXT,
    scopes       TEXT,  -- a JSON array; NULL: all
    livemode     INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;

CREATE INDEX api_keys_of_client ON api_keys (client_id, created_at);

CREATE TABLE sessions (
    id            TEXT PRIMARY KEY,
    client_id     TEXT NOT NULL REFERENCES clients (id),
    livemode      INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    status        TEXT NOT NULL,
    revision      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    lease_until   INTEGER,  -- set while VERIFYING
    settled_at    INTEGER,
    reason        TEXT,
    latency_ms    INTEGER,  -- from creation to settlement
    processing_us INTEGER,  -- what the verification itself took
    formats       TEXT NOT NULL,     -- JSON array, one per credential
    issuer_ids    TEXT NOT NULL,     -- JSON array, one per credential
    record        BLOB NOT NULL
) STRICT;

-- What a verification holds is due when its lease is over, everything else open when it expires.
CREATE INDEX sessions_due ON sessions (coalesce(lease_until, expires_at)) WHERE settled_at IS NULL;
CREATE INDEX sessions_settled ON sessions (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE session_events (
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,  -- dense, from 1
    status      TEXT NOT NULL,
    reason      TEXT,
    occurred_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE trust_entries (
    issuer_id  TEXT PRIMARY KEY,
    iss        TEXT,           -- NULL: the issuer_id itself when it is a URL or a DID
    vct        TEXT NOT NULL,  -- this and the next three: JSON arrays
    doc_types  TEXT NOT NULL,
    namespaces TEXT NOT NULL,
    claims     TEXT NOT NULL,
    country    TEXT,
    revocation TEXT NOT NULL
) STRICT;

CREATE TABLE trust_materials (
    id        INTEGER PRIMARY KEY,
    issuer_id TEXT NOT NULL REFERENCES trust_entries (issuer_id) ON DELETE CASCADE,
    kind      TEXT NOT NULL,  -- 'key': a SubjectPublicKeyInfo
    der       BLOB NOT NULL,
    kid       TEXT,
    test_only INTEGER NOT NULL CHECK (test_only IN (0, 1)),
    added_at  INTEGER NOT NULL,
    UNIQUE (issuer_id, kind, der)
) STRICT;

-- Goes up with every change of the two tables above, in the same transaction.
CREATE TABLE trust_version (
    version INTEGER NOT NULL
) STRICT;
INSERT INTO trust_version (version) VALUES (1);
