//! What was answered under an `Idempotency-Key`. Of several requests under one key, on whichever nodes,
//! the first to store its answer makes the session; the others wait for its commit and find the answer.

use idgate_core::session::Transition;

use super::super::db::Db;
use super::super::idempotency::{self, Found, find, place};
use super::super::lanes::LaneKey;
use super::super::types::{Caller, MadeOnce, Once, Write};
use super::change::Change;
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::sessions::{store, surely};
use super::shared::Shared;
use crate::failure::Boxed;

impl PostgresStore {
    pub(crate) fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        let (id, owner) = (transition.session.id().clone(), transition.session.tenant().clone());
        let sealed =
            match self.shared.env.sealer.seal(place(id.as_str(), owner.as_str()), &once.answer) {
                Ok(sealed) => sealed,
                Err(error) => return Box::pin(async move { Err(error.into()) }),
            };
        let change = match self.prepared_new(transition, &once.beside) {
            Ok(prepared) => Change::new(prepared, &caller.key_id),
            Err(error) => return Box::pin(async { Err(error) }),
        };
        self.run_write(LaneKey::of(&owner), move |shared| async move {
            let asked = Asked { change, once, sealed };
            match create(&shared, &asked).await? {
                Outcomes::Made => {
                    shared.announce(&asked.change);
                    Ok(MadeOnce::Yes)
                }
                Outcomes::NoRoom => Ok(MadeOnce::NoRoom),
                Outcomes::Earlier(found) => {
                    Ok(MadeOnce::Earlier(found.open(&shared.env.sealer, owner.as_str())?))
                }
            }
        })
    }
}

/// A session that is asked for under a key.
struct Asked {
    change: Change,
    once: Once,
    /// The answer.
    sealed: Vec<u8>,
}

/// What came of it, while an earlier answer is still sealed.
enum Outcomes {
    Made,
    NoRoom,
    Earlier(Found),
}

async fn create(shared: &Shared, asked: &Asked) -> Done<Outcomes> {
    let with = (shared, asked);
    let work = || -> Boxed<'_, Outcomes> {
        Box::pin(async {
            let create = shared
                .pool
                .transact(&with, |(shared, asked), tx| Box::pin(create_in(shared, asked, tx)));
            match create.await {
                Err(Failure::NoRoom) => Ok(Outcomes::NoRoom),
                done => done,
            }
        })
    };
    surely(shared, &asked.change, &work, (None, Outcomes::Made)).await
}

async fn create_in(shared: &Shared, asked: &Asked, tx: &Tx<'_>) -> Done<Outcomes> {
    let Asked { change, once, sealed } = asked;
    let (session, now) = (change.session(), change.session().created_at());
    let client_id = session.tenant().as_str();
    let db = Db::Transaction(tx);
    let answer = (session.id().as_str(), sealed.as_slice());
    let is_first = idempotency::insert(&db, client_id, once, answer, now).await?;
    if !is_first {
        // Whoever came first has committed; deleted with its session at this very moment, the key is
        // free again.
        let earlier = find(&db, client_id, &once.key, now).await?;
        let earlier = earlier.ok_or_else(|| Failure::Again("a free key".into()))?;
        // A try before this one was committed, though nobody said so.
        let is_own = earlier.session_id == session.id().as_str();
        return Ok(if is_own { Outcomes::Made } else { Outcomes::Earlier(earlier) });
    }
    store(shared, tx, &[change]).await?;
    Ok(Outcomes::Made)
}
