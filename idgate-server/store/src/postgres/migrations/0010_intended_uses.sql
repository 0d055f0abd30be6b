-- Several registration certificates of a client, each for a use with a name. The one in `registrations` is its default:
-- the program before this one knows no other. A change raises certificates_version.
ALTER TABLE registrations ADD COLUMN intended_use text COLLATE "C" NOT NULL DEFAULT 'default';
CREATE TABLE further_registrations (
    client_id    text COLLATE "C" NOT NULL REFERENCES clients (id),
    intended_use text COLLATE "C" NOT NULL,
    jwt          text NOT NULL,
    strict       boolean NOT NULL,
    added_at     bigint NOT NULL,
    PRIMARY KEY (client_id, intended_use)
);
