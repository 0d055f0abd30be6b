//! What was answered under an `Idempotency-Key`, as rows: digests of key and body, and the answer
//! sealed.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::interface::{Answered, Once, StoreError};
use super::sql::{millis, number};
use crate::seal::{Place, Sealer};

/// How long a key is remembered (decisions 4).
pub(super) const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// Where the answer to the making of a session stands.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "idempotent_answers", object: session_id, client: client_id }
}

/// A row that may still be used.
pub(super) struct Found {
    pub(super) session_id: String,
    pub(super) body: [u8; 32],
    pub(super) sealed: Vec<u8>,
}

impl Found {
    pub(super) fn open(self, sealer: &Sealer, client_id: &str) -> Result<Answered, StoreError> {
        let answer = sealer.open(place(&self.session_id, client_id), &self.sealed)?;
        Ok(Answered { body: self.body, answer })
    }
}

/// What was answered to this client under `key`, unless it is too old.
pub(super) fn find(
    main: &Connection,
    client_id: &str,
    key: &[u8; 32],
    now: UnixMillis,
) -> Result<Option<Found>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT session_id, body, sealed FROM idempotent_answers \
             WHERE client_id = ?1 AND key = ?2 AND created_at > ?3",
        )?
        .query_row((client_id, key, millis(now.minus(KEPT_MS))), |row| {
            Ok(Found { session_id: row.get(0)?, body: row.get(1)?, sealed: row.get(2)? })
        })
        .optional()?)
}

/// Keeps the sealed answer with the session that it made.
pub(super) fn insert(
    main: &Connection,
    client_id: &str,
    once: &Once,
    (session_id, sealed): (&str, &[u8]),
    now: UnixMillis,
) -> Result<(), StoreError> {
    main.prepare_cached(
        "INSERT OR REPLACE INTO idempotent_answers \
         (client_id, key, body, session_id, created_at, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((client_id, once.key, once.body, session_id, millis(now), sealed))?;
    Ok(())
}

/// Removes answers that are too old, at most `limit`.
pub(super) fn forget(
    main: &Connection,
    now: UnixMillis,
    limit: usize,
) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "DELETE FROM idempotent_answers WHERE rowid IN (SELECT rowid \
             FROM idempotent_answers WHERE created_at <= ?1 LIMIT ?2)",
        )?
        .execute((millis(now.minus(KEPT_MS)), number(limit)))?)
}
