-- Pages for people, by the digest of their token. Rows go with their session.
CREATE TABLE pages (
    digest     bytea PRIMARY KEY CHECK (length(digest) = 32),
    session_id text NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    sealed     bytea NOT NULL,                      -- what its codes are made of
    browser    bytea CHECK (length(browser) = 32),  -- digest of what it shows; NULL: nobody's
    is_opened  boolean NOT NULL DEFAULT false,
    notes      text NOT NULL DEFAULT ''             -- separated by spaces
);
