//! The store of a running gateway: narrow use cases, each atomic. Ids and times come from the
//! caller. No use case assumes that this gateway is the only one.

mod api_keys;
mod audit;
mod endpoints;
mod events;
mod idempotency;
mod in_force;
mod lists;
mod metrics;
mod outbox;
mod pages;
mod reports;
mod sessions;

use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use idgate_core::{SessionId, UnixMillis};

use super::cursor::List;
use super::db::Db;
use super::env::{Env, UseCase};
use super::failure::Boxed;
#[cfg(any(test, feature = "fixtures"))]
use super::fault::Mood;
use super::lanes::LaneKey;
use super::postgres::{PostgresOptions, PostgresStore};
use super::sqlite::{SqliteStore, StoreOptions};
use super::types::{Caller, PageError, Read, SessionRate, StoreError, Write};
use crate::audit_chain::AuditEvent;

/// The store of a running gateway.
pub struct Store {
    env: Arc<Env>,
    engine: Engine,
}

/// The database behind the store.
#[allow(clippy::large_enum_variant, reason = "there is one of them in a process")]
enum Engine {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

/// A use case that returns the rows after a position, and the position of the last one if there are
/// more.
type PageCase<A, T> =
    for<'a> fn(&'a (A, i64), &'a Db<'a>, &'a Env) -> Boxed<'a, (Vec<T>, Option<i64>)>;

/// Opening.
impl Store {
    /// Opens the data directory for this process alone, and creates it if it does not exist.
    /// Results that have expired at `now` are erased from every file before anything can be read.
    ///
    /// # Errors
    /// The directory cannot be used, another server uses it, or the key is not its key. The text
    /// says what to do.
    pub fn open(
        dir: &Path,
        options: StoreOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        SqliteStore::open(dir, options, now).map(Self::from)
    }

    /// Connects to a database that other nodes may use as well. Expired results are erased before
    /// anything can be read.
    ///
    /// # Errors
    /// The database cannot be reached or used, its schema has another version, or the key is not
    /// its key. The text says what to do.
    pub fn connect(options: PostgresOptions<'_>, now: UnixMillis) -> Result<Self, StoreError> {
        PostgresStore::open(options, now).map(Self::from)
    }
}

impl From<SqliteStore> for Store {
    fn from(store: SqliteStore) -> Self {
        Self { env: store.env.clone(), engine: Engine::Sqlite(store) }
    }
}

impl From<PostgresStore> for Store {
    fn from(store: PostgresStore) -> Self {
        Self { env: store.shared.env.clone(), engine: Engine::Postgres(store) }
    }
}

/// Gateways that share a database.
impl Store {
    /// Whether this gateway holds the lease for `duty`. If so, no other gateway holds it for the
    /// time `lasting`.
    pub fn leads(&self, duty: &'static str, lasting: Duration) -> Read<'_, bool> {
        match &self.engine {
            Engine::Sqlite(_) => Box::pin(async { Ok(true) }),
            Engine::Postgres(store) => store.leads(duty, lasting),
        }
    }

    /// How many gateways share the store, including this one. The number may be a second old.
    pub fn nodes(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(_) => 1,
            Engine::Postgres(store) => store.nodes(),
        }
    }

    /// When this gateway joined others on the store: it does not know what they granted before. The
    /// beginning of time if there were no others.
    pub fn joined(&self) -> UnixMillis {
        match &self.engine {
            Engine::Sqlite(_) => UnixMillis(0),
            Engine::Postgres(store) => store.joined(),
        }
    }

    /// Charges a request of a wallet or a browser to its session's rate limit, if several gateways
    /// share the store. A request over the limit gets the number of milliseconds that it is too
    /// early. A single gateway counts in memory.
    pub fn charge_session(&self, id: &SessionId, rate: SessionRate) -> Write<'_, Option<u64>> {
        match &self.engine {
            Engine::Postgres(store) if self.nodes() > 1 => store.charge_session(id, rate),
            _ => Box::pin(async { Ok(None) }),
        }
    }

    /// Why a gateway with this one's instance keys could not start now. `None`: it could.
    pub fn next_start(&self) -> Read<'_, Option<String>> {
        match &self.engine {
            Engine::Sqlite(store) => store.next_start(),
            Engine::Postgres(store) => store.next_start(),
        }
    }

    /// Whether the store can write: either something was written within the last second, or this
    /// call writes.
    pub fn probe(&self) -> Write<'_, ()> {
        match &self.engine {
            Engine::Sqlite(store) => store.probe(),
            Engine::Postgres(store) => store.probe(),
        }
    }
}

/// Runs use cases on the database. Arguments are passed by value, because the use case works on
/// another thread.
impl Store {
    /// One statement that reads.
    fn read<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.read(lane, with, work),
            Engine::Postgres(store) => store.read(with, work),
        }
    }

    /// Like `read`, for reads that may take long. They wait in a queue of their own, and quick
    /// reads do not wait for them.
    fn read_long<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.read_long(lane, with, work),
            Engine::Postgres(store) => store.read(with, work),
        }
    }

    /// Like `read`, for several statements that need one snapshot.
    fn look<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.look(lane, with, work),
            Engine::Postgres(store) => store.look(with, work),
        }
    }

    /// A page of a caller's list after `cursor`, and the cursor after that page.
    fn list_page<A, T>(
        &self,
        list: List,
        caller: &Caller,
        (cursor, now): (Option<&str>, UnixMillis),
        (with, work): (A, PageCase<A, T>),
    ) -> Read<'_, (Vec<T>, Option<String>), PageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let lane = LaneKey::of(&caller.client_id);
        let read = move |before| self.read_long(lane, (with, before), work);
        list.page(&self.env.sealer, caller.client_id.as_str(), (cursor, now), read)
    }

    /// One statement that writes. It runs even if the caller stops waiting.
    fn write<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.write(lane, with, work),
            Engine::Postgres(store) => store.write(lane, with, work),
        }
    }

    /// Like `write`, for a statement that erases. SQLite runs it on a full disk as well.
    fn erase<A, T>(&self, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.erase(with, work),
            Engine::Postgres(store) => store.write(LaneKey::GATEWAY, with, work),
        }
    }

    /// Like `erase`, for rows whose bytes must leave every file. Returns how many rows there were.
    fn erase_soon<A>(&self, with: A, work: UseCase<A, usize>) -> Write<'static, usize>
    where
        A: Send + Sync + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.erase_soon(with, work),
            Engine::Postgres(store) => store.change(LaneKey::GATEWAY, with, work),
        }
    }

    /// Several statements in one transaction.
    fn change<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.write(lane, with, work),
            Engine::Postgres(store) => store.change(lane, with, work),
        }
    }

    /// Like `change`, for a transaction that reads or writes the heads of audit chains.
    fn change_chains<A, T>(&self, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.change_chains(with, work),
            Engine::Postgres(store) => store.change(LaneKey::GATEWAY, with, work),
        }
    }

    /// A change by a caller, which holds the head of its audit chain and appends the entry that
    /// records the change.
    fn record<A, T>(
        &self,
        caller: &Caller,
        with: A,
        work: UseCase<A, (T, Option<AuditEvent>)>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.record(&caller.client_id, with, work),
            Engine::Postgres(store) => store.record(&caller.client_id, with, work, None),
        }
    }

    /// Like `record`. If a COMMIT was not acknowledged, `stored` finds out whether it succeeded.
    fn record_surely<A, T>(
        &self,
        caller: &Caller,
        with: A,
        work: UseCase<A, (T, Option<AuditEvent>)>,
        stored: UseCase<A, Option<T>>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(store) => store.record(&caller.client_id, with, work),
            Engine::Postgres(store) => store.record(&caller.client_id, with, work, Some(stored)),
        }
    }

    /// The lane for reads by this handle of a session.
    fn lane_of(&self, handle: impl Hash) -> LaneKey {
        match &self.engine {
            Engine::Sqlite(store) => store.known_sessions.lane(handle),
            // PostgreSQL takes turns per connection.
            Engine::Postgres(_) => LaneKey::GATEWAY,
        }
    }
}

#[cfg(any(test, feature = "fixtures"))]
#[allow(clippy::panic)]
impl Store {
    /// Applies from now on.
    pub fn set_mood(&self, mood: Mood) {
        self.env.fault.set(mood);
    }

    pub(crate) fn sqlite(&self) -> &SqliteStore {
        let Engine::Sqlite(store) = &self.engine else { panic!("a store in PostgreSQL") };
        store
    }
}
