//! The store in SQLite: two files, one writing thread, one reader per core.
//!
//! `idgate.db` holds everything that lasts. `claims.db` holds sealed results, 30 seconds each, and
//! is emptied for good: rows are wiped when deleted, and the log is cut behind them.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use idgate_core::ids::SessionId;
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::events::{self, Changes, EventPage, EventStore, Watch};
use super::readers::Readers;
use super::sessions::Prepared;
use super::uses::Uses;
use super::writer::Writer;
use super::{
    Caller, Committed, Store, StoreError, Write, claims, directory, gateway_keys, keys, schema,
    session_keys, sessions, trust,
};
use crate::audit::AuditKeys;
use crate::config::Environment;
use crate::gateway_key::GatewayKeys;
use crate::seal::{InstanceKey, Sealer};
use crate::telemetry::Telemetry;

/// How a gateway opens its store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions<'a> {
    /// `None`: the one in the data directory.
    pub instance_key: Option<&'a InstanceKey>,
    /// Pinned signers serve live sessions in development only.
    pub environment: Environment,
}

/// The store of one gateway on one data directory.
pub struct SqliteStore {
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    pub(super) sealer: Arc<Sealer>,
    changes: Arc<Changes>,
    /// Rings when a session has settled.
    pub(super) outbox_bell: Arc<Notify>,
    pub(super) telemetry: Arc<Telemetry>,
    pinned_live: bool,
    trust: Mutex<Option<Arc<TrustSnapshot>>>,
    pub(super) gateway_keys: Mutex<Option<Arc<GatewayKeys>>>,
    pub(super) uses: Uses,
    /// Dropped last: the directory is free again when everything is written.
    _lock: File,
}

impl SqliteStore {
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
        directory::create(dir)?;
        let lock = directory::lock(dir)?;
        let claims = schema::open_claims(dir)?;
        claims::remove_due(&claims, now)?;
        empty_log(&claims)?;
        let key = directory::instance_key(dir, options.instance_key)?;
        let sealer = Sealer::new(&key)?;
        let mut main = schema::open_main(dir)?;
        directory::check_key(&main, &sealer)?;
        gateway_keys::ensure(&mut main, &sealer, now)?;
        claims::remove_orphans(&claims, &main)?;
        session_keys::remove_orphans(&claims, &main)?;
        empty_log(&claims)?;
        let telemetry = Telemetry::new().map(Arc::new);
        let telemetry = telemetry.map_err(|error| StoreError::Failed(error.to_string()))?;
        let cores = available_parallelism().map_or(1, usize::from);
        Ok(Self {
            readers: Readers::open(dir, cores)?,
            writer: Writer::start(main, claims, AuditKeys::new(&key)?, telemetry.clone())?,
            telemetry,
            sealer: Arc::new(sealer),
            changes: Arc::default(),
            outbox_bell: Arc::default(),
            pinned_live: options.environment == Environment::Development,
            trust: Mutex::new(None),
            gateway_keys: Mutex::new(None),
            uses: Uses::default(),
            _lock: lock,
        })
    }

    /// How many write transactions were committed since the store was opened.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// Stores the uses of keys, and waits for nothing.
    fn touch(&self, uses: Vec<(String, UnixMillis)>) {
        // Queued already; nobody needs the answer, and a full queue only costs this one time.
        drop(self.writer.submit(move |batch| {
            uses.iter().try_for_each(|(key_id, at)| keys::touch(batch.main, key_id, *at))
        }));
    }

    /// Seals outside the writing thread, then writes.
    pub(super) fn write_session<T: Send + 'static>(
        &self,
        transition: Transition,
        processing_us: Option<u64>,
        write: impl Fn(&Prepared, &mut super::writer::Batch<'_>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Write<'_, T> {
        match Prepared::new(&self.sealer, transition, processing_us) {
            Ok(prepared) => self.writer.submit(move |batch| write(&prepared, batch)),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

/// What is known about the use of keys is stored before the writer ends.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        let unstored = self.uses.unstored();
        if !unstored.is_empty() {
            self.touch(unstored);
        }
    }
}

impl Store for SqliteStore {
    fn authenticate(
        &self,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Caller>, StoreError> {
        let found = self.readers.read(|reader| keys::authenticate(&reader.main, digest, now))?;
        Ok(found.map(|(caller, last_used)| {
            if self.uses.note(&caller.key_id, last_used, now) {
                self.touch(vec![(caller.key_id.clone(), now)]);
            }
            caller
        }))
    }

    fn trust(&self) -> Result<Arc<TrustSnapshot>, StoreError> {
        let version = self.readers.read(|reader| trust::version(&reader.main))?;
        let mut held = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
        // A request that read its version earlier must not bring an older snapshot back.
        if let Some(snapshot) = held.as_ref().filter(|held| held.version() >= version) {
            return Ok(snapshot.clone());
        }
        let snapshot =
            Arc::new(self.readers.read(|reader| trust::snapshot(&reader.main, self.pinned_live))?);
        *held = Some(snapshot.clone());
        Ok(snapshot)
    }

    fn create_session(&self, transition: Transition) -> Write<'_, ()> {
        self.write_session(transition, None, Prepared::insert)
    }

    fn commit(&self, transition: Transition, processing_us: Option<u64>) -> Write<'_, Committed> {
        let id = transition.session.id().clone();
        let settles = transition.session.settled_at().is_some();
        let write = self.write_session(transition, processing_us, Prepared::update);
        Box::pin(async move {
            let committed = write.await?;
            self.changes.publish(&id);
            if settles {
                self.outbox_bell.notify_one();
            }
            Ok(committed)
        })
    }

    fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        self.readers.read(|reader| sessions::read_with_key(reader, &self.sealer, id))
    }

    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Result<Option<Session>, StoreError> {
        self.readers.read(|reader| {
            let found = sessions::read_callers(&reader.main, &self.sealer, caller, id)?;
            let Some(mut session) = found else { return Ok(None) };
            if session.settled_at().is_some()
                && let Some(result) = claims::read(&reader.claims, &self.sealer, id.as_str(), now)?
            {
                session.restore_result(result);
            }
            Ok(Some(session))
        })
    }

    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool> {
        let (caller, session) = (caller.clone(), id.clone());
        let write =
            self.writer.submit(move |batch| sessions::delete(batch, &caller, &session, now));
        let id = id.clone();
        Box::pin(async move {
            let deleted = write.await?;
            self.changes.publish(&id);
            Ok(deleted)
        })
    }

    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Result<Vec<Result<Session, StoreError>>, StoreError> {
        self.readers.read(|reader| sessions::due(&reader.main, &self.sealer, now, limit))
    }

    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        self.writer.submit(move |batch| {
            let removed = claims::remove_due(batch.claims()?, now)?;
            if removed > 0 {
                batch.erase_soon();
            }
            batch.erase_spent_keys();
            Ok(removed)
        })
    }

    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit(move |batch| sessions::remove_settled(batch.main, before, limit))
    }

    fn probe(&self) -> Write<'_, ()> {
        self.writer.submit(|_| Ok(()))
    }
}

impl EventStore for SqliteStore {
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Option<EventPage>, StoreError> {
        self.readers.read(|reader| events::page(&reader.main, caller, id, after, limit))
    }

    fn watch(&self, id: &SessionId) -> Watch {
        self.changes.watch(id)
    }
}

/// Cuts the log of the results while nobody else can have the file open.
fn empty_log(claims: &Connection) -> Result<(), StoreError> {
    if schema::truncate_log(claims)? {
        return Ok(());
    }
    Err(StoreError::Failed(
        "claims.db is open in another program; close it, then start again".into(),
    ))
}
