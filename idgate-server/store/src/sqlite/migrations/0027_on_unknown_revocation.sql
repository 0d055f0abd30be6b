-- What to do with credentials whose status list cannot be had.
ALTER TABLE trust_entries ADD COLUMN on_unknown_revocation TEXT NOT NULL DEFAULT 'refuse';
