//! The store of a running gateway: narrow use cases, each atomic. Ids and times come from the caller, and no use case
//! assumes that the gateway is the only one.

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

/// The database that keeps it.
#[allow(clippy::large_enum_variant, reason = "there is one of them in a process")]
enum Engine {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

/// A use case that gives rows behind a position, and the position of the last if there are more.
type PageCase<A, T> =
    for<'a> fn(&'a (A, i64), &'a Db<'a>, &'a Env) -> Boxed<'a, (Vec<T>, Option<i64>)>;

/// Opening.
impl Store {
    /// Opens the data directory, which is made when there is none, for this process alone. Results
    /// due at `now` are gone from every file before anything can be read.
    ///
    /// # Errors
    /// It cannot be used, another server uses it, or the key is not its key; the text says what to
    /// do.
    pub fn open(
        dir: &Path,
        options: StoreOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        SqliteStore::open(dir, options, now).map(Self::from)
    }

    /// Connects to a database that other nodes may use, too. Results that are due are gone before anything can be
    /// read.
    ///
    /// # Errors
    /// It cannot be reached or used, its schema is another one, or the key is not its key; the text
    /// says what to do.
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
    /// Whether this gateway is the one that does what `duty` names; if so, no other is for so long.
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

    /// When this gateway came to others that share the store: what they granted before, it does not know.
    /// The beginning of time, when there were none.
    pub fn joined(&self) -> UnixMillis {
        match &self.engine {
            Engine::Sqlite(_) => UnixMillis(0),
            Engine::Postgres(store) => store.joined(),
        }
    }

    /// Charges a request of a wallet, or of a browser, to its session where several gateways have to
    /// count together; when it is one too many, says how many milliseconds it is too early. A gateway
    /// that is alone counts by itself.
    pub fn charge_session(&self, id: &SessionId, rate: SessionRate) -> Write<'_, Option<u64>> {
        match &self.engine {
            Engine::Postgres(store) if self.nodes() > 1 => store.charge_session(id, rate),
            _ => Box::pin(async { Ok(None) }),
        }
    }

    /// Why a gateway with the instance keys of this one could not start now; `None`: it could.
    pub fn next_start(&self) -> Read<'_, Option<String>> {
        match &self.engine {
            Engine::Sqlite(store) => store.next_start(),
            Engine::Postgres(store) => store.next_start(),
        }
    }

    /// Whether something can be stored: it was within the last second, or is now.
    pub fn probe(&self) -> Write<'_, ()> {
        match &self.engine {
            Engine::Sqlite(store) => store.probe(),
            Engine::Postgres(store) => store.probe(),
        }
    }
}

/// The ways of a use case to its database. Its arguments are given by value, because it works on another thread.
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

    /// The same for a read that may take long. It waits behind other long ones, and quick reads do not wait for it.
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

    /// The same for several statements that see one moment.
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

    /// A page of a caller's list behind `cursor`, and the cursor behind that page.
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

    /// One statement that writes. It is executed although the caller may no longer wait.
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

    /// The same for a statement that erases. SQLite executes it on a full disk, too.
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

    /// The same for rows whose bytes must leave every file; says how many rows there were.
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

    /// The same for one that reads or writes the ends of chains of the audit log.
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

    /// A change that a caller makes, at the end of its chain of the audit log, with the entry that records it.
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

    /// The same. Where a COMMIT was not answered, `stored` finds out whether it succeeded.
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

    /// The lane of reads that come with this handle of a session.
    fn lane_of(&self, handle: impl Hash) -> LaneKey {
        match &self.engine {
            Engine::Sqlite(store) => store.known_sessions.lane(handle),
            // Its server takes turns by connections.
            Engine::Postgres(_) => LaneKey::GATEWAY,
        }
    }
}

#[cfg(any(test, feature = "fixtures"))]
#[allow(clippy::panic)]
impl Store {
    /// From now on.
    pub fn set_mood(&self, mood: Mood) {
        self.env.fault.set(mood);
    }

    pub(crate) fn sqlite(&self) -> &SqliteStore {
        let Engine::Sqlite(store) = &self.engine else { panic!("a store in PostgreSQL") };
        store
    }
}
