//! Sessions, their results and their events.

use idgate_core::ids::SessionId;
use idgate_core::session::{Offer, Session, Transition};
use idgate_core::time::UnixMillis;

use super::SqliteStore;
use crate::db::{Db, at_once};
use crate::lanes::LaneKey;
use crate::prepared_session::Prepared;
use crate::sessions::{By, of_caller};
use crate::sqlite::claims;
use crate::sqlite::claims_file;
use crate::sqlite::lane_cache::wallet_lane;
use crate::sqlite::readers::Reader;
use crate::sqlite::session_rows;
use crate::sqlite::writer::Batch;
use crate::types::{Beside, Caller, Committed, Made, Read, StoreError, Write};

impl SqliteStore {
    pub(crate) fn create_session_with(
        &self,
        caller: &Caller,
        transition: Transition,
        beside: Beside,
    ) -> Write<'_, Made> {
        let (key_id, quotas) = (caller.key_id.clone(), self.env.quotas);
        let (handles, tenant) = (handles(&transition.session), transition.session.tenant().clone());
        let digest = beside.page.as_ref().map(|page| page.digest);
        let write =
            self.write_new(LaneKey::of(&tenant), transition, beside, move |prepared, batch| {
                let made = prepared.count(batch, quotas)?;
                if made == Made::Yes {
                    prepared.insert(batch, &key_id)?;
                }
                Ok(made)
            });
        Box::pin(async move {
            let made = write.await?;
            if made == Made::Yes {
                self.know(&handles, digest, tenant.as_str());
            }
            Ok(made)
        })
    }

    pub(crate) fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        let (caller, id, sealer) = (caller.clone(), id.clone(), self.env.sealer.clone());
        self.readers.read(LaneKey::of(&caller.client_id), move |reader| {
            let found = at_once(of_caller(&Db::sqlite(&reader.main), &caller, id.as_str()))?;
            found.map(|found| session_rows::with_result(reader, &sealer, &found, now)).transpose()
        })
    }

    pub(crate) fn delete_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        let (whose, caller, session) = (LaneKey::of(&caller.client_id), caller.clone(), id.clone());
        let write = self.writer.submit_erasing(whose, move |batch| {
            session_rows::delete(batch, &caller, &session, now)
        });
        let id = id.clone();
        Box::pin(async move {
            let deleted = write.await?;
            self.env.changes.publish(&id);
            Ok(deleted)
        })
    }

    pub(crate) fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        let dir = self.dir.clone();
        self.writer.submit_erasing(LaneKey::GATEWAY, move |batch| {
            claims_file::erase_set_aside(&dir, now);
            let removed = claims::remove_due(batch.claims()?, now)?;
            if removed > 0 {
                batch.erase_soon();
            }
            batch.erase_spent_keys();
            Ok(removed)
        })
    }
}

impl SqliteStore {
    /// Seals a new session and what is beside it outside the writing thread, then writes, in this lane.
    pub(super) fn write_new<T: Send + 'static>(
        &self,
        whose: LaneKey,
        transition: Transition,
        beside: Beside,
        write: impl Fn(&Prepared, &mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Write<'_, T> {
        let prepared = Prepared::new(&self.env.sealer, transition, None)
            .and_then(|prepared| prepared.with(&self.env.sealer, &beside));
        match prepared {
            Ok(prepared) => self.writer.submit_for(whose, move |batch| write(&prepared, batch)),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    /// A session that was made: its wallets, and who looks at its page, are no strangers.
    pub(super) fn know(&self, handles: &[String], page: Option<[u8; 32]>, client_id: &str) {
        if let Some(digest) = page {
            self.known_sessions.note(digest, wallet_lane(client_id));
        }
        for handle in handles {
            self.known_sessions.note(&**handle, wallet_lane(client_id));
        }
    }

    /// Reads in the lane of the client that this name is known to belong to.
    pub(crate) fn wallets_session(&self, by: By, name: &str) -> Read<'_, Option<Session>> {
        let (env, name) = (self.env.clone(), name.to_owned());
        let sought = name.clone();
        let read = move |reader: &Reader| session_rows::read(reader, &env, by, &sought);
        let found = self.readers.read(self.known_sessions.lane(&*name), read);
        Box::pin(async move {
            let found = found.await?;
            match &found {
                Some(session) => {
                    let lane = wallet_lane(session.tenant().as_str());
                    self.known_sessions.note(&*name, lane);
                }
                None => self.known_sessions.forget(&*name),
            }
            Ok(found)
        })
    }

    /// Stores a transition of a session that there is, in this lane.
    pub(crate) fn commit_prepared(
        &self,
        whose: LaneKey,
        prepared: Prepared,
    ) -> Write<'_, Committed> {
        let (id, settles) = (prepared.session.id().clone(), prepared.notice.is_some());
        let write = self.writer.submit_for(whose, move |batch| prepared.update(batch));
        Box::pin(async move {
            let committed = write.await?;
            self.env.changes.publish(&id);
            if settles {
                self.env.outbox_bell.notify_one();
            }
            Ok(committed)
        })
    }
}

/// What wallets know a session by.
pub(super) fn handles(session: &Session) -> Vec<String> {
    let offers = session.offers().filter_map(Offer::id).map(|id| id.as_str().to_owned());
    std::iter::once(session.id().as_str().to_owned()).chain(offers).collect()
}
