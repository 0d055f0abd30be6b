-- What `POST /v1/sessions` answered under an Idempotency-Key. `key` and `body` are SHA-256.
CREATE TABLE idempotent_answers (
    client_id  TEXT NOT NULL,
    key        BLOB NOT NULL CHECK (length(key) = 32),
    body       BLOB NOT NULL CHECK (length(body) = 32),
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
               DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL,
    sealed     BLOB NOT NULL,
    PRIMARY KEY (client_id, key)
) STRICT;

CREATE INDEX idempotent_answers_of_session ON idempotent_answers (session_id);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created_at);
