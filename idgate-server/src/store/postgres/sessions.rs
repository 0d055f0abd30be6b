//! Sessions, their results and their events.

mod change;
mod insert;
pub(super) mod read;
mod remove;
mod step;

use idgate_core::ids::{OfferId, SessionId};
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;

use super::super::interface::{
    Beside, Caller, Committed, Made, Read, SessionStore, StoreError, Write,
};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::change::{Change, Stored};
use super::gateway::{PostgresStore, committing};
use super::{claims, leases, rates};
use crate::spans::Parent;

pub(super) use self::change::surely;
use self::change::write;
pub(super) use self::step::store;

impl SessionStore for PostgresStore {
    fn create_session_with(
        &self,
        caller: &Caller,
        transition: Transition,
        beside: Beside,
    ) -> Write<'_, Made> {
        let prepared = self.prepared_new(transition, &beside);
        let change = prepared.map(|prepared| Change::new(prepared, &caller.key_id));
        let made = self.change(Whose::of(&caller.client_id), change);
        Box::pin(async {
            match made.await? {
                Stored::Yes => Ok(Made::Yes),
                Stored::NoRoom => Ok(Made::NoRoom),
                Stored::LostRace => Err(StoreError::Failed("a new session is not stored".into())),
            }
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

    fn parent_span(&self, id: &SessionId) -> Read<'_, Option<Parent>> {
        let id = id.as_str().to_owned();
        self.read(move |shared| async move { read::parent_span(&shared, &id).await })
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
            let deleted = remove::delete(&shared, &caller, &id, now).await?;
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

    fn sessions_of_revoked(&self, limit: usize) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.fault.read(self.read(move |shared| async move {
            if !leases::hold(&shared, "revoked", leases::LEASE).await? {
                return Ok(Vec::new());
            }
            read::of_revoked(&shared, limit).await
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
            remove::remove_settled(&shared, before, limit).await
        })
    }

    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.read(|shared| async move { read::abandoned(&shared).await })
    }
}

impl PostgresStore {
    /// Writes a change of a session with others of the same lane.
    fn change(&self, whose: Whose, change: Result<Change, StoreError>) -> Write<'static, Stored> {
        let change = match change {
            Ok(change) => change,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        self.fault.write(whose, || {
            let (place, lane) = self.shared.groups.join(whose, change);
            if let Some(lane) = lane {
                drop(self.threads.spawn(write(self.shared.clone(), lane)));
            }
            let clock = self.shared.clock.clone();
            committing(async move { place.told(&*clock).await })
        })
    }

    /// Seals a new session and what is beside it, on the thread of whoever asks.
    pub(super) fn prepared_new(
        &self,
        transition: Transition,
        beside: &Beside,
    ) -> Result<Prepared, StoreError> {
        let sealer = &self.shared.sealer;
        Prepared::new(sealer, transition, None)?.with(sealer, beside)
    }

    fn commit_in(
        &self,
        whose: Whose,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Write<'_, Committed> {
        self.commit_prepared(whose, Prepared::new(&self.shared.sealer, transition, processing_us))
    }

    /// Stores a transition of a session that there is.
    pub(super) fn commit_prepared(
        &self,
        whose: Whose,
        prepared: Result<Prepared, StoreError>,
    ) -> Write<'_, Committed> {
        let committed = self.change(whose, prepared.map(Change::of));
        Box::pin(async {
            Ok(match committed.await? {
                Stored::Yes => Committed::Yes,
                Stored::NoRoom | Stored::LostRace => Committed::LostRace,
            })
        })
    }
}
