-- X.509 material of trust entries. `trust_materials.kind` is from here on also 'root_file',
-- 'master_list', 'vical' and 'pinned_signer' (certificates), and 'crl'.

ALTER TABLE trust_entries ADD COLUMN ekus TEXT;  -- a JSON array; NULL: the one of mDL signers

ALTER TABLE trust_materials ADD COLUMN doc_types TEXT;  -- a JSON array; NULL: any

-- The list that an entry's certificates of that kind came from.
CREATE TABLE trust_lists (
    issuer_id    TEXT NOT NULL REFERENCES trust_entries (issuer_id) ON DELETE CASCADE,
    kind         TEXT NOT NULL CHECK (kind IN ('master_list', 'vical')),
    issued_at    INTEGER,           -- NULL: the list does not say
    next_update  INTEGER,           -- NULL: the list does not say
    certificates INTEGER NOT NULL,  -- how many it has
    skipped      INTEGER NOT NULL,  -- how many of them cannot be used
    test_only    INTEGER NOT NULL CHECK (test_only IN (0, 1)),
    added_at     INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, kind)
) STRICT, WITHOUT ROWID;
