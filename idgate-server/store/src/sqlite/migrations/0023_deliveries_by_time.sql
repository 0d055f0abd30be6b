-- What waits is found by when its session settled and by the session, in the index of what waits by
-- time. Ids of sessions are random: an index of them alone was one more, and strewn over. What failed
-- is found by its own id. All else is as 0010, 0019 and 0022 made it.

CREATE TABLE deliveries (
    seq           INTEGER PRIMARY KEY,  -- the order in which sessions settled
    id            TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    client_id     TEXT NOT NULL REFERENCES clients (id),
    livemode      INTEGER NOT NULL CHECK (livemode IN (0, 1)),
    body          TEXT NOT NULL,
    queued_at     INTEGER NOT NULL,  -- when the session settled
    held          INTEGER NOT NULL CHECK (held IN (0, 1)),  -- waited for the review of its host
    attempts      INTEGER NOT NULL DEFAULT 0,  -- failed ones
    due_at        INTEGER,  -- the next attempt, or the end of the lease; NULL: there is none
    lease_until   INTEGER,  -- somebody is at it until then
    error_message TEXT,
    failed_at     INTEGER,  -- a dead letter since its last attempt
    failure_seq   INTEGER,  -- the order of dead letters
    parent_span   TEXT      -- outlives the session
) STRICT;

INSERT INTO deliveries (seq, id, session_id, client_id, livemode, body, queued_at, held, attempts,
                        due_at, lease_until, error_message, failed_at, failure_seq, parent_span)
    SELECT seq, id, session_id, client_id, livemode, body, queued_at, held, attempts,
           due_at, lease_until, error_message, failed_at, failure_seq, parent_span
    FROM webhook_deliveries;
DROP TABLE webhook_deliveries;
ALTER TABLE deliveries RENAME TO webhook_deliveries;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (client_id, due_at, seq)
    WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_queued ON webhook_deliveries (queued_at, session_id)
    WHERE failed_at IS NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (lease_until)
    WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (client_id, seq)
    WHERE failed_at IS NULL;
CREATE INDEX webhook_dead_letters ON webhook_deliveries (client_id, failure_seq)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_by_id ON webhook_deliveries (id) WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_by_time ON webhook_deliveries (failed_at)
    WHERE failed_at IS NOT NULL;
CREATE INDEX webhook_dead_letters_order ON webhook_deliveries (failure_seq)
    WHERE failure_seq IS NOT NULL;
