//! What was answered under an `Idempotency-Key`.

use idgate_core::session::Transition;

use super::SqliteStore;
use super::sessions::handles;
use crate::db::{Db, at_once};
use crate::idempotency::{self, Found, find, place};
use crate::lanes::LaneKey;
use crate::types::{Caller, Made, MadeOnce, Once, Write};

impl SqliteStore {
    pub(crate) fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        let session = &transition.session;
        let (id, now) = (session.id().as_str().to_owned(), session.created_at());
        let client_id = session.tenant().as_str().to_owned();
        let sealed = match self.env.sealer.seal(place(&id, &client_id), &once.answer) {
            Ok(sealed) => sealed,
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        let (key_id, quotas) = (caller.key_id.clone(), self.env.quotas);
        let (owner, handles) = (client_id.clone(), handles(session));
        let beside = once.beside.clone();
        let digest = beside.page.as_ref().map(|page| page.digest);
        let whose = LaneKey::of(transition.session.tenant());
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
                Outcome::Earlier(found) => MadeOnce::Earlier(found.open(&self.env.sealer, &owner)?),
            })
        })
    }
}

/// What came of a creation, while the earlier answer is still sealed.
enum Outcome {
    Made,
    NoRoom,
    Earlier(Found),
}
