//! Answers under an `Idempotency-Key`. Each answer is stored with its session, removed with it, and
//! kept for 24 hours at most.

use idgate_core::{Transition, UnixMillis};

use super::Store;
use crate::idempotency::{Created, find, forget};
use crate::lanes::LaneKey;
use crate::types::{Answered, Caller, MadeOnce, Once, Read, Write};

/// Idempotent requests.
impl Store {
    /// The earlier answer to this client under the key with this digest.
    pub fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>> {
        let with = (caller.client_id.clone(), *key, now);
        self.read(LaneKey::of(&caller.client_id), with, |(client_id, key, now), db, env| {
            Box::pin(async move {
                let found = find(db, client_id.as_str(), key, *now).await?;
                Ok(found.map(|it| it.open(&env.sealer, client_id.as_str())).transpose()?)
            })
        })
    }

    /// Inserts a new session with its answer, as [`Store::create_session`] does. If the key was
    /// used before, however recently, nothing is stored and the earlier answer is returned.
    pub fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        let (owner, beside) = (caller.client_id.clone(), once.beside.clone());
        let created = self.create(caller, transition, &beside, Some(once));
        Box::pin(async move {
            Ok(match created.await? {
                Created::Made => MadeOnce::Yes,
                Created::NoRoom => MadeOnce::NoRoom,
                Created::Earlier(found) => {
                    MadeOnce::Earlier(found.open(&self.env.sealer, owner.as_str())?)
                }
            })
        })
    }

    /// Removes at most `limit` answers that are too old. Returns how many.
    pub fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.erase((now, limit), |(now, limit), db, _| Box::pin(forget(db, *now, *limit)))
    }
}
