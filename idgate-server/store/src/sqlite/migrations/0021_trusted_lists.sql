-- European trusted lists. An entry has at most one; it is kept as it came and read anew, so that what it
-- brings is always what it says. `sequence`, `next_update` and the like are what the token has in it.
CREATE TABLE trusted_lists (
    issuer_id    TEXT PRIMARY KEY REFERENCES trust_entries (issuer_id) ON DELETE CASCADE,
    url          TEXT,              -- NULL: it came from a file
    list_type    TEXT NOT NULL,     -- fixed by the first one
    organization TEXT,              -- of the signer of the first one
    token        BLOB NOT NULL,
    sha256       BLOB NOT NULL,     -- of the token
    anchors      BLOB NOT NULL,     -- certificates in DER, one after another; empty: for tests
    crls         BLOB NOT NULL,     -- of the anchors, in DER, one after another
    providers    TEXT NOT NULL,     -- a JSON array of identifiers; empty: all
    profile      TEXT,              -- NULL: as the type of list has it
    allow_stale  INTEGER NOT NULL CHECK (allow_stale IN (0, 1)),
    test_only    INTEGER NOT NULL CHECK (test_only IN (0, 1)),
    sequence     INTEGER NOT NULL,
    listed       INTEGER NOT NULL,  -- how many providers it has
    next_update  INTEGER NOT NULL,
    added_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX trusted_lists_of_url ON trusted_lists (url) WHERE url IS NOT NULL;

-- The newest list that was seen of each source. It outlives the lists.
CREATE TABLE trusted_list_marks (
    source         TEXT PRIMARY KEY,  -- the URL, or type and organization
    sequence       INTEGER NOT NULL,
    issued_at      INTEGER NOT NULL,
    payload_sha256 BLOB NOT NULL,
    seen_at        INTEGER NOT NULL
) STRICT;

-- How fetching went.
CREATE TABLE trusted_list_fetches (
    url      TEXT PRIMARY KEY,
    tried_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,  -- since the last success
    failure  TEXT               -- the last one, while failures is not 0
) STRICT;

-- Whether queries name the list's URL.
ALTER TABLE trust_entries ADD COLUMN etsi_tl INTEGER NOT NULL DEFAULT 0 CHECK (etsi_tl IN (0, 1));
