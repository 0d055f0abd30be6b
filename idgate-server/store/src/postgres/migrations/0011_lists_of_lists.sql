-- The list of lists that an entry follows. It names the URL and the signers of the entry's trusted
-- list, and is deleted with that list.
CREATE TABLE lists_of_lists (
    issuer_id    text COLLATE "C" PRIMARY KEY
        REFERENCES trusted_lists (issuer_id) ON DELETE CASCADE,
    url          text COLLATE "C",   -- NULL: it came from a file
    country      text NOT NULL,      -- the territory whose list the entry follows
    organization text,               -- of the first issue's signer
    token        bytea NOT NULL,
    sha256       bytea NOT NULL,     -- of the token
    anchors      bytea NOT NULL,     -- certificates in DER, one after another; empty: for tests
    crls         bytea NOT NULL,     -- of the anchors, in DER, one after another
    test_only    boolean NOT NULL,
    sequence     bigint NOT NULL,
    issued_at    bigint NOT NULL,
    payload_sha256 bytea NOT NULL,   -- of its content
    territory    text NOT NULL,      -- its own; fixed by the first one
    location     text COLLATE "C" NOT NULL, -- the URL of the entry's list; if the list has another one, this row is not used
    listed       bigint NOT NULL,    -- the number of lists that it points to
    next_update  bigint NOT NULL,
    added_at     bigint NOT NULL,
    tried_at     bigint,             -- the last attempt to fetch it; NULL: none yet
    failures     bigint NOT NULL,    -- the number of failures since the last success
    failure      text                -- the reason of the last failure, while failures is not 0
);

CREATE INDEX lists_of_lists_of_url ON lists_of_lists (url) WHERE url IS NOT NULL;
