-- The id of a notification follows from its session's and is looked up for dead letters only, so
-- that queueing one need not sort it into an index. All else is as 0006 made it.

CREATE TABLE deliveries (
    seq           INTEGER PRIMARY KEY,  -- the order in which sessions settled
    id            TEXT NOT NULL,
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

INSERT INTO deliveries (seq, id, session_id, client_id, livemode, body, queued_at, held, attempts,
                        due_at, lease_until, error_message, failed_at, failure_seq)
    SELECT seq, id, session_id, client_id, livemode, body, queued_at, held, attempts,
           due_at, lease_until, error_message, failed_at, failure_seq FROM webhook_deliveries;
DROP TABLE webhook_deliveries;
ALTER TABLE deliveries RENAME TO webhook_deliveries;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (client_id, due_at, seq)
    WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_queued ON webhook_deliveries (queued_at) WHERE failed_at IS NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (lease_until)
    WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_dead_letters ON webhook_deliveries (client_id, failure_seq)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_by_id ON webhook_deliveries (id) WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_by_time ON webhook_deliveries (failed_at)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_order ON webhook_deliveries (failure_seq)
    WHERE failure_seq IS NOT NULL;
