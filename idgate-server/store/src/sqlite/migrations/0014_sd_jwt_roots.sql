-- SD-JWT VC signed by certificates, and what queries in DCQL take from a trust entry.
-- `trust_materials.kind` is from here on also 'sd_jwt_root' and 'sd_jwt_signer'.

ALTER TABLE trust_entries ADD COLUMN claim_paths TEXT;  -- a JSON array of [name, path]; NULL: none

ALTER TABLE trust_entries ADD COLUMN aki INTEGER NOT NULL DEFAULT 0 CHECK (aki IN (0, 1));

ALTER TABLE trust_entries ADD COLUMN device_response_documents TEXT NOT NULL DEFAULT 'one'
    CHECK (device_response_documents IN ('one', 'any'));
