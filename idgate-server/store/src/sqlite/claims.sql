-- Sealed results of the last 30 seconds, and sealed keys of open sessions. The main database never
-- holds one, so no backup does.
--
-- `sealed` is padded so that a row fills its page: SQLite wipes what it frees, but not the old
-- copies it leaves in a page when it moves small rows to a neighbour.
CREATE TABLE IF NOT EXISTS results (
    session_id TEXT NOT NULL,
    redact_at  INTEGER NOT NULL,  -- 30 seconds after the session settled
    sealed     BLOB NOT NULL
) STRICT;
-- By time first, although it is a session that is looked for: ids are random, and each would have its
-- own page of an index written twice, with its result and with the erasure.
CREATE UNIQUE INDEX IF NOT EXISTS results_by_end ON results (redact_at, session_id);

-- What answers to open sessions are encrypted to; padded like results.
CREATE TABLE IF NOT EXISTS session_keys (
    session_id TEXT PRIMARY KEY,
    sealed     BLOB NOT NULL
) STRICT;

-- The `database_id` of the `idgate.db` that all this belongs to.
CREATE TABLE IF NOT EXISTS belongs_to (
    database_id BLOB NOT NULL
) STRICT;
