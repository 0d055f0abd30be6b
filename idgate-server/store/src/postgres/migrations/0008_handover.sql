-- A page that a person takes from a computer to a phone.
ALTER TABLE pages ADD COLUMN phone bytea CHECK (length(phone) = 32);  -- digest of what its browser shows; NULL: no phone has it
ALTER TABLE pages ADD COLUMN moves bigint NOT NULL DEFAULT 0;         -- how often it went to a phone or came back
