-- What a registrar attests that a client may ask for. A change raises certificates_version.
CREATE TABLE registrations (
    client_id TEXT PRIMARY KEY REFERENCES clients (id),
    jwt       TEXT NOT NULL,
    strict    INTEGER NOT NULL CHECK (strict IN (0, 1)),
    added_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
