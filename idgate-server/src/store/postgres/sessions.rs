//! Sessions, their results and their events.

mod change;
mod read;
mod settle;

use std::sync::Arc;

use idgate_core::ids::{OfferId, SessionId};
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;

use super::super::interface::{
    Caller, Committed, Made, NewPage, Read, SessionStore, StoreError, Write,
};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::error::Done;
use super::gateway::PostgresStore;
use super::shared::Shared;
use super::{claims, leases, rates};

pub(super) use self::change::{Outcome, count, insert_new, make};

impl SessionStore for PostgresStore {
    fn create_session_with(
        &self,
        caller: &Caller,
        transition: Transition,
        page: Option<NewPage>,
    ) -> Write<'_, Made> {
        let (whose, key_id) = (Whose::of(&caller.client_id), caller.key_id.clone());
        self.write_new(whose, transition, page, move |shared, prepared| async move {
            change::create(&shared, &prepared, &key_id).await
        })
    }

    fn commit(&self, transition: Transition, processing_us: Option<u64>) -> Write<'_, Committed> {
        let whose = Whose::of(transition.session.tenant());
        self.commit_in(whose, transition, processing_us)
    }

    fn commit_own(&self, transition: Transition) -> Write<'_, Committed> {
        self.commit_in(Whose::GATEWAY, transition, None)
    }

    fn session(&self, id: &SessionId) -> Read<'_, Option<Session>> {
        let id = id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move { read::with_key(&shared, &id).await }))
    }

    fn session_of_offer(&self, id: &OfferId) -> Read<'_, Option<Session>> {
        let id = id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move { read::offered(&shared, &id).await }))
    }

    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        let (caller, id) = (caller.clone(), id.as_str().to_owned());
        self.fault.read(
            self.read(move |shared| async move { read::callers(&shared, &caller, &id, now).await }),
        )
    }

    fn has_lost_claims(&self, caller: &Caller, id: &SessionId) -> Read<'_, bool> {
        let (caller, id) = (caller.clone(), id.as_str().to_owned());
        self.read(move |shared| async move { read::has_lost_claims(&shared, &caller, &id).await })
    }

    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.clone());
        let place = self.shared.deletions.next(&id);
        self.write_at(Some(place), whose, move |shared| async move {
            let deleted = change::delete(&shared, &caller, &id, now).await?;
            shared.tell(&id);
            Ok(deleted)
        })
    }

    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.fault.read(self.read(move |shared| async move {
            if !leases::hold(&shared, "expiry", leases::LEASE).await? {
                return Ok(Vec::new());
            }
            read::due(&shared, now, limit).await
        }))
    }

    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        self.write(
            Whose::GATEWAY,
            move |shared| async move { claims::erase_due(&shared, now).await },
        )
    }

    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            rates::forget(&shared).await?;
            change::remove_settled(&shared, before, limit).await
        })
    }

    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.read(|shared| async move { read::abandoned(&shared).await })
    }
}

impl PostgresStore {
    /// Seals a new session and its page on the thread of whoever asks, then writes.
    pub(super) fn write_new<T, F>(
        &self,
        whose: Whose,
        transition: Transition,
        page: Option<NewPage>,
        write: impl FnOnce(Arc<Shared>, Prepared) -> F,
    ) -> Write<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Done<T>> + Send + 'static,
    {
        let sealer = &self.shared.sealer;
        let prepared = Prepared::new(sealer, transition, None)
            .and_then(|prepared| prepared.with_page(sealer, page.as_ref()));
        match prepared {
            Ok(prepared) => self.write(whose, |shared| write(shared, prepared)),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn commit_in(
        &self,
        whose: Whose,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Write<'_, Committed> {
        let prepared = Prepared::new(&self.shared.sealer, transition, processing_us);
        self.commit_prepared(whose, prepared)
    }

    /// Stores a transition of a session that there is.
    pub(super) fn commit_prepared(
        &self,
        whose: Whose,
        prepared: Result<Prepared, StoreError>,
    ) -> Write<'_, Committed> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        self.write(whose, |shared| async move {
            let committed = change::update(&shared, &prepared).await?;
            shared.tell(prepared.session.id());
            if prepared.notice.is_some() {
                shared.outbox_bell.notify_one();
            }
            Ok(committed)
        })
    }
}
