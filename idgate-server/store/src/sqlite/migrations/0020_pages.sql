-- Pages for people, by the digest of their token. Rows go with their session.
CREATE TABLE pages (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    sealed     BLOB NOT NULL,                                      -- what its codes are made of
    browser    BLOB CHECK (length(browser) = 32),                  -- digest of what it shows; NULL: nobody's
    is_opened  INTEGER NOT NULL DEFAULT 0 CHECK (is_opened IN (0, 1)),
    notes      TEXT NOT NULL DEFAULT ''                            -- separated by spaces
) STRICT, WITHOUT ROWID;
