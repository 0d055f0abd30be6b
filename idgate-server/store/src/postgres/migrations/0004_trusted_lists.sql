-- European trusted lists. An entry has at most one; it is kept as it came and read anew, so that what it
-- brings is always what it says. `sequence`, `next_update` and the like are what the token has in it.
CREATE TABLE trusted_lists (
    issuer_id    text COLLATE "C" PRIMARY KEY
        REFERENCES trust_entries (issuer_id) ON DELETE CASCADE,
    url          text COLLATE "C",   -- NULL: it came from a file
    list_type    text NOT NULL,      -- fixed by the first one
    organization text,               -- of the signer of the first one
    token        bytea NOT NULL,
    sha256       bytea NOT NULL,     -- of the token
    anchors      bytea NOT NULL,     -- certificates in DER, one after another; empty: for tests
    crls         bytea NOT NULL,     -- of the anchors, in DER, one after another
    providers    text NOT NULL,      -- a JSON array of identifiers; empty: all
    profile      text,               -- NULL: as the type of list has it
    allow_stale  boolean NOT NULL,
    test_only    boolean NOT NULL,
    sequence     bigint NOT NULL,
    listed       bigint NOT NULL,  -- how many providers it has
    next_update  bigint NOT NULL,
    added_at     bigint NOT NULL
);

CREATE INDEX trusted_lists_of_url ON trusted_lists (url) WHERE url IS NOT NULL;

-- The newest list that was seen of each source. It outlives the lists.
CREATE TABLE trusted_list_marks (
    source         text COLLATE "C" PRIMARY KEY,  -- the URL, or type and organization
    sequence       bigint NOT NULL,
    issued_at      bigint NOT NULL,
    payload_sha256 bytea NOT NULL,
    seen_at        bigint NOT NULL
);

-- How fetching went.
CREATE TABLE trusted_list_fetches (
    url      text COLLATE "C" PRIMARY KEY,
    tried_at bigint NOT NULL,
    failures bigint NOT NULL,  -- since the last success
    failure  text              -- the last one, while failures is not 0
);

-- Whether queries name the list's URL.
ALTER TABLE trust_entries ADD COLUMN etsi_tl boolean NOT NULL DEFAULT false;
