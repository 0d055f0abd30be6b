-- The list of lists that an entry follows. It names the URL and the signers of the entry's trusted
-- list, and is deleted with that list.
CREATE TABLE lists_of_lists (
    issuer_id    TEXT PRIMARY KEY REFERENCES trusted_lists (issuer_id) ON DELETE CASCADE,
    url          TEXT,              -- NULL: it came from a file
    country      TEXT NOT NULL,     -- the territory whose list the entry follows
    organization TEXT,              -- of the first issue's signer
    token        BLOB NOT NULL,
    sha256       BLOB NOT NULL,     -- of the token
    anchors      BLOB NOT NULL,     -- certificates in DER, one after another; empty: for tests
    crls         BLOB NOT NULL,     -- of the anchors, in DER, one after another
    test_only    INTEGER NOT NULL CHECK (test_only IN (0, 1)),
    sequence     INTEGER NOT NULL,
    issued_at    INTEGER NOT NULL,
    payload_sha256 BLOB NOT NULL,   -- of its content
    territory    TEXT NOT NULL,     -- its own; fixed by the first one
    location     TEXT NOT NULL,     -- the URL of the entry's list; if the list has another one, this row is not used
    listed       INTEGER NOT NULL,  -- the number of lists that it points to
    next_update  INTEGER NOT NULL,
    added_at     INTEGER NOT NULL,
    tried_at     INTEGER,           -- the last attempt to fetch it; NULL: none yet
    failures     INTEGER NOT NULL,  -- the number of failures since the last success
    failure      TEXT               -- the reason of the last failure, while failures is not 0
) STRICT;

CREATE INDEX lists_of_lists_of_url ON lists_of_lists (url) WHERE url IS NOT NULL;
