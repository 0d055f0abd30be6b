-- Webhooks: where clients are notified, what operators think of those hosts, what waits to be sent.

CREATE TABLE webhook_endpoints (
    client_id       TEXT PRIMARY KEY REFERENCES clients (id),
    livemode        INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    url             TEXT NOT NULL,
    host            TEXT NOT NULL,  -- of the url
    created_at      INTEGER NOT NULL,
    secret          BLOB NOT NULL,  -- this and the next: sealed
    previous_secret BLOB,           -- signs as well, until then
    previous_until  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_endpoints_of_host ON webhook_endpoints (host);

-- A host without a row is PENDING.
CREATE TABLE webhook_hosts (
    host        TEXT PRIMARY KEY,
    status      TEXT NOT NULL CHECK (status IN ('APPROVED', 'REJECTED')),
    note        TEXT,
    reviewed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One notification of one settled session, until it is delivered or thrown away.
CREATE TABLE webhook_deliveries (
    seq           INTEGER PRIMARY KEY,  -- the order in which sessions settled
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL UNIQUE,
    client_id     TEXT NOT NULL REFERENCES clients (id),
    livemode      INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    body          TEXT NOT NULL,
    queued_at     INTEGER NOT NULL,
    held          INTEGER NOT NULL CHECK (held IN (0, 1)),  -- waited for the review of its host
    attempts      INTEGER NOT NULL DEFAULT 0,  -- failed ones
    due_at        INTEGER,  -- the next attempt, or the end of the lease; NULL: there is none
    lease_until   INTEGER,  -- somebody is at it until then
    error_message TEXT,
    failed_at     INTEGER,  -- a dead letter since its last attempt
    failure_seq   INTEGER   -- the order of dead letters
) STRICT;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (client_id, due_at, seq)
    WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (queued_at) WHERE failed_at IS NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (lease_until)
    WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_dead_letters ON webhook_deliveries (client_id, failure_seq)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_by_time ON webhook_deliveries (failed_at)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_order ON webhook_deliveries (failure_seq)
    WHERE failure_seq IS NOT NULL;
