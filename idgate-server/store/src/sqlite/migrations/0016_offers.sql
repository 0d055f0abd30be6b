-- Which session a request belongs to whose id is not the session's own. Rows go with the settlement.
CREATE TABLE offers (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX offers_of_session ON offers (session_id);
