//! What was answered under an `Idempotency-Key`: with the session, and gone with it; 24 hours at
//! most. Only digests of key and body are kept, and the answer sealed.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};
use zeroize::Zeroizing;

use super::lanes::Whose;
use super::sqlite::SqliteStore;
use super::{Caller, Made, Read, StoreError, Write, millis};
use crate::seal::{Place, Sealer};

/// How long a key is remembered (decisions 4).
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// What a running gateway keeps about idempotent requests.
pub trait IdempotencyStore {
    /// What was answered to this client under the key with this digest.
    fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>>;

    /// Inserts a new session, as [`super::Store::create_session`] does, with its answer. When the
    /// key was used before, however recently, nothing is stored and the earlier answer comes back.
    fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce>;

    /// Removes answers that are too old, at most `limit`, and says how many.
    fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize>;
}

/// A request under an `Idempotency-Key`, and the answer to it.
pub struct Once {
    /// SHA-256 of the key.
    pub key: [u8; 32],
    /// SHA-256 of the request's body.
    pub body: [u8; 32],
    /// As it is sent.
    pub answer: Zeroizing<Vec<u8>>,
}

/// An earlier answer.
#[derive(Clone)]
pub struct Answered {
    /// SHA-256 of the body that it answered.
    pub body: [u8; 32],
    /// As it was sent.
    pub answer: Zeroizing<Vec<u8>>,
}

/// What became of a session that was asked for under a key.
#[derive(Clone)]
pub enum MadeOnce {
    /// It is stored, with its answer.
    Yes,
    /// The client has as many open sessions as it may; nothing changed.
    NoRoom,
    /// The key was used before.
    Earlier(Answered),
}

impl IdempotencyStore for SqliteStore {
    fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>> {
        let (client_id, key, sealer) = (caller.client_id.clone(), *key, self.sealer.clone());
        self.readers.read(Whose::of(&caller.client_id), move |reader| {
            let found = find(&reader.main, client_id.as_str(), &key, now)?;
            found.map(|found| found.open(&sealer, client_id.as_str())).transpose()
        })
    }

    fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        let session = &transition.session;
        let (id, now) = (session.id().as_str().to_owned(), session.created_at());
        let client_id = session.tenant().as_str().to_owned();
        let sealed = match self.sealer.seal(place(&id, &client_id), &once.answer) {
            Ok(sealed) => sealed,
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        let (key_id, quotas) = (caller.key_id.clone(), self.quotas);
        let (owner, made_id) = (client_id.clone(), id.clone());
        let whose = Whose::of(transition.session.tenant());
        let inserted = self.write_session(whose, transition, None, move |prepared, batch| {
            if let Some(earlier) = find(batch.main, &client_id, &once.key, now)? {
                return Ok(Outcome::Earlier(earlier));
            }
            if prepared.count(batch, quotas)? == Made::NoRoom {
                return Ok(Outcome::NoRoom);
            }
            batch
                .main
                .prepare_cached(
                    "INSERT OR REPLACE INTO idempotent_answers \
                     (client_id, key, body, session_id, created_at, sealed) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((&client_id, &once.key, once.body, &id, millis(now), &sealed))?;
            // Last, because it may write to the second file, which has no savepoint.
            prepared.insert(batch, &key_id)?;
            Ok(Outcome::Made)
        });
        Box::pin(async move {
            Ok(match inserted.await? {
                Outcome::Made => {
                    self.know(&made_id, &owner);
                    MadeOnce::Yes
                }
                Outcome::NoRoom => MadeOnce::NoRoom,
                Outcome::Earlier(found) => MadeOnce::Earlier(found.open(&self.sealer, &owner)?),
            })
        })
    }

    fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            Ok(batch
                .main
                .prepare_cached(
                    "DELETE FROM idempotent_answers WHERE rowid IN (SELECT rowid \
                     FROM idempotent_answers WHERE created_at <= ?1 LIMIT ?2)",
                )?
                .execute((millis(now.minus(KEPT_MS)), limit))?)
        })
    }
}

/// What came of a creation, while the earlier answer is still sealed.
enum Outcome {
    Made,
    NoRoom,
    Earlier(Found),
}

/// Where the answer to the making of a session stands.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "idempotent_answers", object: session_id, client: client_id }
}

/// A row that may still be used.
struct Found {
    session_id: String,
    body: [u8; 32],
    sealed: Vec<u8>,
}

impl Found {
    fn open(self, sealer: &Sealer, client_id: &str) -> Result<Answered, StoreError> {
        let answer = sealer.open(place(&self.session_id, client_id), &self.sealed)?;
        Ok(Answered { body: self.body, answer })
    }
}

fn find(
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
