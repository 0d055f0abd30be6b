//! Answers under an `Idempotency-Key`, as rows: digests of key and body, and the sealed answer.

use idgate_core::{Session, UnixMillis};

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::{millis, number};
use super::types::{Answered, Once, StoreError};
use crate::seal::{Place, Sealer};

/// How long an answer is kept (decisions 4).
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// The seal's place of the answer to a session's creation.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "idempotent_answers", object: session_id, client: client_id }
}

/// A row that is still valid.
pub(super) struct Found {
    pub(super) session_id: String,
    body: [u8; 32],
    sealed: Vec<u8>,
}

impl Found {
    pub(super) fn open(self, sealer: &Sealer, client_id: &str) -> Result<Answered, StoreError> {
        let answer = sealer.open(place(&self.session_id, client_id), &self.sealed)?;
        Ok(Answered { body: self.body, answer })
    }
}

/// A request under a key, whose answer is sealed.
pub(super) struct SealedOnce {
    pub(super) once: Once,
    sealed: Vec<u8>,
}

impl SealedOnce {
    pub(super) fn new(sealer: &Sealer, session: &Session, once: Once) -> Result<Self, StoreError> {
        let place = place(session.id().as_str(), session.tenant().as_str());
        Ok(Self { sealed: sealer.seal(place, &once.answer)?, once })
    }
}

/// The outcome of a creation, while an earlier answer is still sealed.
pub(super) enum Created {
    Made,
    NoRoom,
    Earlier(Found),
}

/// The answer to this client under `key`, unless it is too old.
pub(super) async fn find(
    db: &Db<'_>,
    client_id: &str,
    key: &[u8; 32],
    now: UnixMillis,
) -> Done<Option<Found>> {
    let sql = sql("SELECT session_id, body, sealed FROM idempotent_answers \
                   WHERE client_id = $1 AND key = $2 AND created_at > $3");
    let read = |row: &Row<'_>| {
        Ok(Found { session_id: row.get(0)?, body: row.digest(1)?, sealed: row.get(2)? })
    };
    let since = millis(now.minus(KEPT_MS));
    db.one(sql, &[&client_id, &key.as_slice(), &since], read).await
}

/// Stores the sealed answer with the session that it belongs to. `false`: another answer was stored
/// before.
pub(super) async fn insert(
    db: &Db<'_>,
    session: &Session,
    SealedOnce { once, sealed }: &SealedOnce,
) -> Done<bool> {
    let (id, client_id) = (session.id().as_str(), session.tenant().as_str());
    let now = session.created_at();
    let sql = sql("INSERT INTO idempotent_answers AS a \
         (client_id, key, body, session_id, created_at, sealed) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (client_id, key) DO UPDATE SET body = excluded.body, \
         session_id = excluded.session_id, created_at = excluded.created_at, \
         sealed = excluded.sealed WHERE a.created_at <= $7");
    let (key, body) = (once.key.as_slice(), once.body.as_slice());
    let (created, ended) = (millis(now), millis(now.minus(KEPT_MS)));
    let kept = db.run(sql, &[&client_id, &key, &body, &id, &created, sealed, &ended]).await?;
    Ok(kept > 0)
}

/// Removes at most `limit` answers that are too old.
pub(super) async fn forget(db: &Db<'_>, now: UnixMillis, limit: usize) -> Done<usize> {
    let sql = sql("DELETE FROM idempotent_answers WHERE (client_id, key) IN ( \
                   SELECT client_id, key FROM idempotent_answers WHERE created_at <= $1 LIMIT $2 \
                   {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(now.minus(KEPT_MS)), &number(limit)]).await
}
