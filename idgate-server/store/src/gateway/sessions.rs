//! Sessions and their results. The databases differ here: claims are in a second file or in a ring
//! of tables, and settlements are committed in groups.

use std::time::Duration;

use idgate_core::shell::OfferId;
use idgate_core::{Reason, Session, SessionId, Transition, UnixMillis};

use super::{Engine, Store};
use crate::idempotency::{Created, SealedOnce};
use crate::lanes::LaneKey;
use crate::prepared_session::Prepared;
use crate::recall::{Basis, Recalled};
use crate::recent_sessions::Keeping;
use crate::sessions::{self, By};
use crate::types::{Beside, Caller, Committed, Made, Once, Read, StoreError, Write};
use crate::{session_keys, session_upkeep};
use idgate_base::spans::Parent;

/// How long a gateway keeps a duty that only one gateway does at a time. Another one takes over
/// after that.
const LEASE: Duration = Duration::from_secs(2);

/// Sessions of clients and of wallets.
impl Store {
    /// Inserts a new session of this caller (`transition.from` is 0) with its status events.
    pub fn create_session(&self, caller: &Caller, transition: Transition) -> Write<'_, Made> {
        self.create_session_with(caller, transition, Beside::default())
    }

    /// Like [`Store::create_session`], with more in the same transaction.
    pub fn create_session_with(
        &self,
        caller: &Caller,
        transition: Transition,
        beside: Beside,
    ) -> Write<'_, Made> {
        let created = self.create(caller, transition, &beside, None);
        Box::pin(async move {
            match created.await? {
                Created::Made => Ok(Made::Yes),
                Created::NoRoom => Ok(Made::NoRoom),
                Created::Earlier(_) => {
                    Err(StoreError::Failed("a session without a key has an earlier answer".into()))
                }
            }
        })
    }

    /// Stores a new session. The session, its page and its answer are sealed on the request's
    /// thread.
    pub(super) fn create(
        &self,
        caller: &Caller,
        transition: Transition,
        beside: &Beside,
        once: Option<Once>,
    ) -> Write<'_, Created> {
        let sealer = &self.env.sealer;
        let sealed = Prepared::new(sealer, transition, None).and_then(|prepared| {
            let once = once.map(|once| SealedOnce::new(sealer, &prepared.session, once));
            Ok((prepared.with(sealer, beside)?, once.transpose()?))
        });
        let (new, once) = match sealed {
            Ok(sealed) => sealed,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let keeping = self.keep(&new);
        let write = match &self.engine {
            Engine::Sqlite(store) => store.create_session(caller, new, once),
            Engine::Postgres(store) => store.create_session(caller, new, once),
        };
        Box::pin(async move {
            let created = write.await?;
            if let (Created::Made, Some(keeping)) = (&created, keeping) {
                keeping.committed();
            }
            Ok(created)
        })
    }

    /// Replaces the copy in memory by the state that a write stores. `None`: wallets cannot answer
    /// the session in that state.
    fn keep(&self, prepared: &Prepared) -> Option<Keeping<'_>> {
        let former = self.env.recent.forget(prepared.session.id().as_str());
        // With several gateways copies would often be out of date.
        let kept = prepared.kept(former.as_deref()).filter(|_| self.nodes() == 1)?;
        self.env.recent.keep(kept)
    }

    /// Stores a transition if the stored revision is `transition.from`: session, status events and,
    /// for a verified session, the sealed result, in one commit. `processing_us` is the time that
    /// the verification took, if there was one. Answers to sessions of revoked clients are not
    /// stored.
    pub fn commit(
        &self,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Write<'_, Committed> {
        self.commit_by(Basis::default(), transition, processing_us)
    }

    /// Like [`Store::commit`], unless the source of the decision has changed.
    pub fn commit_by(
        &self,
        basis: Basis,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Write<'_, Committed> {
        let lane = LaneKey::of(transition.session.tenant());
        let prepared = Prepared::new(&self.env.sealer, transition, processing_us);
        self.commit_prepared(lane, prepared.map(|prepared| Prepared { basis, ..prepared }))
    }

    /// Like [`Store::commit`], for a session that the gateway settles by itself. It uses no queue
    /// space of the client or its wallets.
    pub fn commit_own(&self, transition: Transition) -> Write<'_, Committed> {
        let prepared = Prepared::new(&self.env.sealer, transition, None);
        self.commit_prepared(LaneKey::GATEWAY, prepared)
    }

    pub(super) fn commit_prepared(
        &self,
        lane: LaneKey,
        prepared: Result<Prepared, StoreError>,
    ) -> Write<'_, Committed> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let keeping = self.keep(&prepared);
        let write = match &self.engine {
            Engine::Sqlite(store) => store.commit_prepared(lane, prepared),
            Engine::Postgres(store) => store.commit_prepared(lane, prepared),
        };
        let Some(keeping) = keeping else { return write };
        Box::pin(async move {
            let committed = write.await?;
            if committed == Committed::Yes {
                keeping.committed();
            }
            Ok(committed)
        })
    }

    /// The open session with this name in its wallets' URIs, from memory. `None`: memory does not
    /// have it.
    pub fn recall(&self, name: &str) -> Option<Recalled> {
        if self.nodes() > 1 {
            return None;
        }
        let (kept, in_force) = (self.env.recent.find(name)?, self.last_in_force()?);
        let (basis, sealer) = (Basis(Some(in_force.numbers())), &self.env.sealer);
        let mut session = kept.stored.open(sealer).ok()?;
        if let Some(sealed) = &kept.key {
            session_keys::restore(sealer, &mut session, sealed).ok()?;
        }
        Some(Recalled { session, in_force, basis })
    }

    /// A session for the wallet routes, without its result. Sessions of revoked clients are not
    /// found.
    pub fn session(&self, id: &SessionId) -> Read<'_, Option<Session>> {
        self.wallets_session(By::Id, id.as_str())
    }

    /// Like [`Store::session`], by the id of one of the session's offers other than its own id,
    /// while the session is open.
    pub fn session_of_offer(&self, id: &OfferId) -> Read<'_, Option<Session>> {
        self.wallets_session(By::Offer, id.as_str())
    }

    fn wallets_session(&self, by: By, name: &str) -> Read<'_, Option<Session>> {
        self.env.fault.read(match &self.engine {
            Engine::Sqlite(store) => store.wallets_session(by, name),
            Engine::Postgres(store) => store.read((by, name.to_owned()), |(by, name), db, env| {
                Box::pin(sessions::find(db, env, *by, name))
            }),
        })
    }

    /// The span that created a session, if it was recorded. Later spans of the session belong to
    /// it.
    pub fn parent_span(&self, id: &SessionId) -> Read<'_, Option<Parent>> {
        self.read(self.lane_of(id.as_str()), id.clone(), |id, db, _| {
            Box::pin(session_upkeep::parent_span(db, id.as_str()))
        })
    }

    /// A session of this caller and mode. The result is included while it may be read at `now`.
    pub fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        self.env.fault.read(match &self.engine {
            Engine::Sqlite(store) => store.callers_session(caller, id, now),
            Engine::Postgres(store) => store.callers_session(caller, id, now),
        })
    }

    /// Whether the result of a session of this caller was lost before its time, because the
    /// database that held it crashed. A store that keeps results like all other data never loses
    /// any.
    pub fn has_lost_claims(&self, caller: &Caller, id: &SessionId) -> Read<'_, bool> {
        match &self.engine {
            Engine::Sqlite(_) => Box::pin(async { Ok(false) }),
            Engine::Postgres(store) => store.has_lost_claims(caller, id),
        }
    }

    /// Removes a session of this caller with everything stored about it except its audit entries.
    /// Resolves when no file contains its row or its claims. If another program is reading the
    /// files, it resolves without waiting, and the files are emptied when that program ends.
    /// `false`: the session does not exist.
    pub fn delete_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        self.env.recent.forget(id.as_str());
        let write = match &self.engine {
            Engine::Sqlite(store) => store.delete_session(caller, id, now),
            Engine::Postgres(store) => store.delete_session(caller, id, now),
        };
        let id = id.clone();
        Box::pin(async move {
            let deleted = write.await?;
            // A change that came before the deletion may have brought a copy in the meantime.
            self.env.recent.forget(id.as_str());
            Ok(deleted)
        })
    }
}

/// The gateway's own work on sessions.
impl Store {
    /// Open sessions whose `expires_at` or verification lease is at or before `now`. A session that
    /// cannot be read is an error in its place.
    pub fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.env.recent.forget_expired(now);
        self.where_it_leads("expiry", move || {
            self.read_long(LaneKey::GATEWAY, (now, limit), |(now, limit), db, env| {
                Box::pin(session_upkeep::due(db, &env.sealer, *now, *limit))
            })
        })
    }

    /// At most `limit` open sessions of revoked clients. A session that cannot be read is an error
    /// in its place. Empty as long as a node of an older version, which cannot end such sessions,
    /// shares the store.
    pub fn sessions_of_revoked(&self, limit: usize) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.where_it_leads("revoked", move || {
            self.read_long(LaneKey::GATEWAY, limit, |limit, db, env| {
                Box::pin(session_upkeep::of_revoked(db, &env.sealer, *limit))
            })
        })
    }

    /// Whether every gateway on the store can read a session that ended for `reason`.
    pub fn is_known_to_all(&self, reason: Reason) -> Read<'_, bool> {
        self.read(LaneKey::GATEWAY, reason, |reason, db, _| {
            Box::pin(session_upkeep::is_known(db, *reason))
        })
    }

    /// Reads if this gateway holds the lease for `duty`. Otherwise there is nothing to do.
    fn where_it_leads<'s, T: Send + 'static>(
        &'s self,
        duty: &'static str,
        read: impl FnOnce() -> Read<'s, Vec<T>> + Send + 's,
    ) -> Read<'s, Vec<T>> {
        let leads = self.leads(duty, LEASE);
        self.env
            .fault
            .read(Box::pin(async move { if leads.await? { read().await } else { Ok(Vec::new()) } }))
    }

    /// Erases the results that are due at `now` from every file, and returns how many there were.
    /// Also erases results due implausibly late, because the clock was set back after they were
    /// stored. A later call finishes an erasure that a reader held up.
    pub fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        match &self.engine {
            Engine::Sqlite(store) => store.purge_results(now),
            Engine::Postgres(store) => store.purge_results(now),
        }
    }

    /// Removes at most `limit` sessions that settled before `before`.
    pub fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        let remove = move || {
            self.erase((before, limit), |(before, limit), db, _| {
                Box::pin(session_upkeep::remove_settled(db, *before, *limit))
            })
        };
        match &self.engine {
            Engine::Sqlite(_) => remove(),
            Engine::Postgres(store) => Box::pin(async move {
                store.forget_rates().await?;
                remove().await
            }),
        }
    }

    /// Sessions in verification that this process cannot have begun, because it has only just
    /// opened the store exclusively. A session that cannot be read is an error in its place.
    pub fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>> {
        self.read_long(LaneKey::GATEWAY, (), |(), db, env| {
            Box::pin(session_upkeep::abandoned(db, &env.sealer))
        })
    }
}
