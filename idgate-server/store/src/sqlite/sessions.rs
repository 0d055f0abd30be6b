//! Sessions, their results and their events.

use idgate_core::shell::Offer;
use idgate_core::{Session, SessionId, UnixMillis};

use super::SqliteStore;
use crate::db::{Db, at_once};
use crate::idempotency::{Created, SealedOnce, find, insert};
use crate::lanes::LaneKey;
use crate::prepared_session::Prepared;
use crate::quotas::Quotas;
use crate::sessions::{By, of_caller};
use crate::sqlite::claims;
use crate::sqlite::claims_file;
use crate::sqlite::lane_cache::wallet_lane;
use crate::sqlite::readers::Reader;
use crate::sqlite::session_rows;
use crate::sqlite::writer::Batch;
use crate::types::{Caller, Committed, Read, StoreError, Write};

impl SqliteStore {
    pub(crate) fn create_session(
        &self,
        caller: &Caller,
        prepared: Prepared,
        once: Option<SealedOnce>,
    ) -> Write<'_, Created> {
        let (key_id, quotas) = (caller.key_id.clone(), self.env.quotas);
        let (names, client_id) = (names(&prepared.session), caller.client_id.clone());
        let page = prepared.page.as_ref().map(|page| page.digest);
        let write = self.writer.submit_for(LaneKey::of(&client_id), move |batch| {
            create(batch, &prepared, once.as_ref(), (&key_id, quotas))
        });
        Box::pin(async move {
            let created = write.await?;
            if matches!(created, Created::Made) {
                // From here on its wallets and the viewers of its page no longer wait with unknown
                // names.
                let lane = wallet_lane(client_id.as_str());
                page.iter().for_each(|digest| self.known_sessions.note(*digest, lane));
                names.iter().for_each(|name| self.known_sessions.note(&**name, lane));
            }
            Ok(created)
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

    /// Stores a transition of an existing session, in this lane.
    pub(crate) fn commit_prepared(
        &self,
        whose: LaneKey,
        prepared: Prepared,
    ) -> Write<'_, Committed> {
        let id = prepared.session.id().clone();
        let write = self.writer.submit_for(whose, move |batch| prepared.update(batch));
        Box::pin(async move {
            let committed = write.await?;
            self.env.changes.publish(&id);
            Ok(committed)
        })
    }
}

fn create(
    batch: &mut Batch<'_>,
    prepared: &Prepared,
    once: Option<&SealedOnce>,
    (key_id, quotas): (&str, Quotas),
) -> Result<Created, StoreError> {
    let (db, session) = (Db::sqlite(batch.main), &prepared.session);
    if let Some(SealedOnce { once, .. }) = once {
        let (client_id, now) = (session.tenant().as_str(), session.created_at());
        if let Some(earlier) = at_once(find(&db, client_id, &once.key, now))? {
            return Ok(Created::Earlier(earlier));
        }
    }
    if !at_once(quotas.open_sessions(&db, session, 1))? {
        return Ok(Created::NoRoom);
    }
    if let Some(once) = once {
        at_once(insert(&db, session, once))?;
    }
    // Last, because it may write to the second file, which has no savepoint.
    prepared.insert(batch, key_id)?;
    Ok(Created::Made)
}

/// The names by which wallets find a session.
fn names(session: &Session) -> Vec<String> {
    let offers = session.offers().filter_map(Offer::id).map(|id| id.as_str().to_owned());
    std::iter::once(session.id().as_str().to_owned()).chain(offers).collect()
}
