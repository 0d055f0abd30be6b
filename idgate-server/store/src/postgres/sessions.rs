//! Sessions, their results and their events.

mod change;
mod insert;
mod read;
mod remove;
mod step;

use idgate_core::{Session, SessionId, UnixMillis};

use super::super::lanes::LaneKey;
use super::super::types::{Caller, Committed, Read, SessionFound, StoreError, Write};
use super::change::{Change, Stored};
use super::claims;
use super::gateway::{PostgresStore, committing};
use super::idempotency::create_once;
use crate::idempotency::{Created, SealedOnce};
use crate::prepared_session::Prepared;

pub(super) use self::change::surely;
use self::change::write;
pub(super) use self::step::store;

impl PostgresStore {
    pub(crate) fn create_session(
        &self,
        caller: &Caller,
        prepared: Prepared,
        once: Option<SealedOnce>,
    ) -> Write<'_, Created> {
        let (lane, change) =
            (LaneKey::of(&caller.client_id), Change::new(prepared, &caller.key_id));
        let Some(once) = once else {
            let made = self.together(lane, change);
            return Box::pin(async {
                match made.await? {
                    Stored::Yes => Ok(Created::Made),
                    Stored::NoRoom => Ok(Created::NoRoom),
                    Stored::LostRace => {
                        Err(StoreError::Failed("a new session is not stored".into()))
                    }
                }
            });
        };
        self.run_write(lane, move |shared| async move {
            let created = create_once(&shared, &change, &once).await?;
            if matches!(created, Created::Made) {
                shared.announce(&change);
            }
            Ok(created)
        })
    }

    pub(crate) fn authenticate(
        &self,
        digest: &[u8; 32],
        session: Option<&SessionId>,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (digest, session) = (*digest, session.cloned());
        self.run_read(move |shared| async move {
            let session = session.as_ref().map(SessionId::as_str);
            read::authenticated(&shared, &digest, session, now).await
        })
    }

    pub(crate) fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        let (caller, id) = (caller.clone(), id.as_str().to_owned());
        self.run_read(move |shared| async move { read::callers(&shared, &caller, &id, now).await })
    }

    pub(crate) fn has_lost_claims(&self, caller: &Caller, id: &SessionId) -> Read<'_, bool> {
        let (caller, id) = (caller.clone(), id.as_str().to_owned());
        self.run_read(
            move |shared| async move { read::has_lost_claims(&shared, &caller, &id).await },
        )
    }

    pub(crate) fn delete_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        let (whose, caller, id) = (LaneKey::of(&caller.client_id), caller.clone(), id.clone());
        let place = self.shared.deletions.next(&id);
        self.run_write_at(Some(place), whose, move |shared| async move {
            let deleted = remove::delete(&shared, &caller, &id, now).await?;
            shared.tell(&id);
            Ok(deleted)
        })
    }

    pub(crate) fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        self.run_write(LaneKey::GATEWAY, move |shared| async move {
            claims::erase_due(&shared, now).await
        })
    }
}

impl PostgresStore {
    /// Writes a change of a session together with others in the same lane.
    fn together(&self, whose: LaneKey, change: Change) -> Write<'static, Stored> {
        self.shared.env.fault.write(whose, || {
            let (place, lane) = self.shared.groups.join(whose, change);
            if let Some(lane) = lane {
                drop(self.threads.spawn(write(self.shared.clone(), lane)));
            }
            let clock = self.shared.clock.clone();
            committing(async move { place.told(&*clock).await })
        })
    }

    /// Stores a transition of an existing session.
    pub(crate) fn commit_prepared(
        &self,
        whose: LaneKey,
        prepared: Prepared,
    ) -> Write<'_, Committed> {
        let committed = self.together(whose, Change::of(prepared));
        Box::pin(async {
            Ok(match committed.await? {
                Stored::Yes => Committed::Yes,
                Stored::NoRoom | Stored::LostRace => Committed::LostRace,
            })
        })
    }
}
