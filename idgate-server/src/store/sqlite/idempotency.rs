//! What was answered under an `Idempotency-Key`.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::super::db::{Db, at_once};
use super::super::idempotency::{self, Found, find, place};
use super::super::interface::{
    Answered, Caller, IdempotencyStore, Made, MadeOnce, Once, Read, Write,
};
use super::super::lanes::Whose;
use super::super::writer::Batch;
use super::SqliteStore;
use super::sessions::handles;

impl IdempotencyStore for SqliteStore {
    fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>> {
        let (client_id, key, sealer) = (caller.client_id.clone(), *key, self.sealer.clone());
        self.readers.read(Whose::of(&caller.client_id), move |reader| {
            let db = Db::sqlite(&reader.main);
            let found = at_once(find(&db, client_id.as_str(), &key, now))?;
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
        let (owner, handles) = (client_id.clone(), handles(session));
        let beside = once.beside.clone();
        let digest = beside.page.as_ref().map(|page| page.digest);
        let whose = Whose::of(transition.session.tenant());
        let inserted = self.write_new(whose, transition, beside, move |prepared, batch| {
            let db = Db::sqlite(batch.main);
            if let Some(earlier) = at_once(find(&db, &client_id, &once.key, now))? {
                return Ok(Outcome::Earlier(earlier));
            }
            if prepared.count(batch, quotas)? == Made::NoRoom {
                return Ok(Outcome::NoRoom);
            }
            at_once(idempotency::insert(&db, &client_id, &once, (&id, &sealed), now))?;
            // Last, because it may write to the second file, which has no savepoint.
            prepared.insert(batch, &key_id)?;
            Ok(Outcome::Made)
        });
        Box::pin(async move {
            Ok(match inserted.await? {
                Outcome::Made => {
                    self.know(&handles, digest, &owner);
                    MadeOnce::Yes
                }
                Outcome::NoRoom => MadeOnce::NoRoom,
                Outcome::Earlier(found) => MadeOnce::Earlier(found.open(&self.sealer, &owner)?),
            })
        })
    }

    fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        let forget = move |batch: &mut Batch<'_>| {
            at_once(idempotency::forget(&Db::sqlite(batch.main), now, limit))
        };
        self.writer.submit_erasing(Whose::GATEWAY, forget)
    }
}

/// What came of a creation, while the earlier answer is still sealed.
enum Outcome {
    Made,
    NoRoom,
    Earlier(Found),
}
