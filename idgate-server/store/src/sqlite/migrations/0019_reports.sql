-- Why answers were refused: sealed, for 24 hours.
CREATE TABLE reports (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    refused_at INTEGER NOT NULL,
    sealed     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reports_by_age ON reports (refused_at);

-- What waits to be sent, as its client lists it.
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (client_id, seq)
    WHERE failed_at IS NULL;
