-- Everything sealed is sealed anew under keys of its own, bound to its client (`reseal.rs`, in this
-- same transaction).

-- Sessions that were open when the backup was made that this database came from: they are in the
-- audit log and nowhere else, and nobody shall look for them.
CREATE TABLE left_out (
    session_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- By which `claims.db` knows this database, and nothing else takes its place.
INSERT INTO instance (name, sealed) VALUES ('database_id', randomblob(16));

-- Written to find out whether anything can be written.
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    writes INTEGER NOT NULL
) STRICT;
INSERT INTO probe (id, writes) VALUES (1, 0);
