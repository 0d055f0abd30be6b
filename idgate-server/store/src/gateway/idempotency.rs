//! Answers under an `Idempotency-Key`. Each is stored with its session, goes with it, and lasts 24 hours at most.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::{Engine, Store};
use crate::idempotency::{find, forget};
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

    /// Inserts a new session, as [`Store::create_session`] does, with its answer. When the
    /// key was used before, however recently, nothing is stored and the earlier answer comes back.
    pub fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        match &self.engine {
            Engine::Sqlite(store) => store.create_session_once(caller, transition, once),
            Engine::Postgres(store) => store.create_session_once(caller, transition, once),
        }
    }

    /// Removes answers that are too old, at most `limit`, and says how many.
    pub fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.erase((now, limit), |(now, limit), db, _| Box::pin(forget(db, *now, *limit)))
    }
}
