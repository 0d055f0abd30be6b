-- Who may sign status lists, and for how long they count. `trust_materials.kind` is from here on
-- also 'status_root'.

ALTER TABLE trust_entries ADD COLUMN status_max_age_days INTEGER;  -- NULL: the default

ALTER TABLE trust_entries ADD COLUMN issuing_country_unbound INTEGER NOT NULL DEFAULT 0
    CHECK (issuing_country_unbound IN (0, 1));

ALTER TABLE trust_lists ADD COLUMN sha256 BLOB;  -- of the file; NULL: imported before
