-- Several registration certificates of a client, each for a use with a name. The one in `registrations` is its default:
-- the program before this one knows no other. A change raises certificates_version.
ALTER TABLE registrations ADD COLUMN intended_use TEXT NOT NULL DEFAULT 'default';
CREATE TABLE further_registrations (
    client_id    TEXT NOT NULL REFERENCES clients (id),
    intended_use TEXT NOT NULL,
    jwt          TEXT NOT NULL,
    strict       INTEGER NOT NULL CHECK (strict IN (0, 1)),
    added_at     INTEGER NOT NULL,
    PRIMARY KEY (client_id, intended_use)
) STRICT, WITHOUT ROWID;
