-- What the certificates of SD-JWT VC issuers must be for.
ALTER TABLE trust_entries ADD COLUMN sd_jwt_ekus TEXT;  -- a JSON array; NULL: the default
