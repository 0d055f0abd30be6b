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
-- By time first, although lookups are by session: ids are random, so each would write its own index
-- page twice, once when its result is stored and once when it is erased.
CREATE UNIQUE INDEX IF NOT EXISTS results_by_end ON results (redact_at, session_id);

-- The keys that answers to open sessions are encrypted to, padded like results.
CREATE TABLE IF NOT EXISTS session_keys (
    session_id TEXT PRIMARY KEY,
    sealed     BLOB NOT NULL
) STRICT;

-- The `database_id` of the `idgate.db` that this file belongs to.
CREATE TABLE IF NOT EXISTS belongs_to (
    database_id BLOB NOT NULL
) STRICT;
