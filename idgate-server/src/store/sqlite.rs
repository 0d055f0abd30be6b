//! The store in SQLite: two files, one writing thread, one reader per core.
//!
//! `idgate.db` holds everything that lasts. `claims.db` holds sealed results, 30 seconds each, and
//! is emptied for good: rows are wiped when deleted, and the log is cut behind them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use idgate_core::ids::SessionId;
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::directory::DirectoryKey;
use super::disk::Disk;
use super::events::{self, Changes, EventPage, EventStore, Watch};
use super::fault::Fault;
use super::held::Held;
use super::known::{self, Known, key_lane, wallet_lane};
use super::lanes::Whose;
use super::probe::Probe;
use super::readers::{Reader, Readers};
use super::sessions::Prepared;
use super::uses::Uses;
use super::writer::Writer;
use super::{
    Caller, Committed, Made, Read, Store, StoreError, Write, claims, claims_file, directory,
    gateway_keys, keys, probe, quotas, reseal, schema, session_keys, sessions, trust,
};
use crate::audit::AuditKeys;
use crate::config::{Environment, Quotas};
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
    /// What a client may have at a time.
    pub quotas: Quotas,
}

/// The store of one gateway on one data directory.
pub struct SqliteStore {
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    pub(super) sealer: Arc<Sealer>,
    /// What it signed is recognised with these.
    pub(super) audit: Arc<AuditKeys>,
    changes: Arc<Changes>,
    /// Rings when a session has settled.
    pub(super) outbox_bell: Arc<Notify>,
    pub(super) telemetry: Arc<Telemetry>,
    pinned_live: bool,
    pub(super) quotas: Quotas,
    trust: Arc<Held<TrustSnapshot>>,
    pub(super) gateway_keys: Arc<Held<GatewayKeys>>,
    pub(super) uses: Uses,
    pub(super) known_keys: Known,
    known_sessions: Known,
    probe: Probe,
    dir: PathBuf,
    pub(super) disk: Arc<Disk>,
    pub(super) fault: Fault,
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
        let disk = Arc::new(Disk::of(dir));
        claims_file::erase_first(dir, &disk, now)?;
        let found = DirectoryKey::find(dir, options.instance_key)?;
        let key = &found.key;
        let sealer = Sealer::new(key)?;
        let mut main = schema::open_main(dir, key)?;
        directory::check_key(&main, &sealer)?;
        gateway_keys::ensure(&mut main, &sealer, now)?;
        found.keep(dir)?;
        let mut claims = schema::open_claims(dir)?;
        directory::same_database(&main, &claims)?;
        reseal::claims(&mut claims, &main, key)?;
        // On a full disk the counts are those of before, and what belongs to nothing stays longer.
        for tidied in [quotas::recount(&mut main), remove_orphans(&claims, &main)] {
            disk.note(&tidied);
            if !matches!(tidied, Err(StoreError::Full)) {
                tidied?;
            }
        }
        let telemetry = Telemetry::new().map(Arc::new);
        let telemetry = telemetry.map_err(|error| StoreError::Failed(error.to_string()))?;
        let fault = Fault::default();
        let cores = available_parallelism().map_or(1, usize::from);
        // What cannot be read now is known with its first use.
        let known_keys = known::keys(&main).unwrap_or_default();
        let known_sessions = known::sessions(&main).unwrap_or_default();
        Ok(Self {
            readers: Readers::open(dir, cores)?,
            writer: Writer::start(
                main,
                claims,
                AuditKeys::new(key)?,
                telemetry.clone(),
                disk.clone(),
                fault.clone(),
            )?,
            telemetry,
            sealer: Arc::new(sealer),
            audit: Arc::new(AuditKeys::new(key)?),
            changes: Arc::default(),
            outbox_bell: Arc::default(),
            pinned_live: options.environment == Environment::Development,
            quotas: options.quotas,
            trust: Arc::default(),
            gateway_keys: Arc::default(),
            uses: Uses::default(),
            known_keys,
            known_sessions,
            probe: Probe::default(),
            dir: dir.to_owned(),
            disk,
            fault,
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

    /// Seals outside the writing thread, then writes, in this lane.
    pub(super) fn write_session<T: Send + 'static>(
        &self,
        whose: Whose,
        transition: Transition,
        processing_us: Option<u64>,
        write: impl Fn(&Prepared, &mut super::writer::Batch<'_>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Write<'_, T> {
        match Prepared::new(&self.sealer, transition, processing_us) {
            Ok(prepared) => self.writer.submit_for(whose, move |batch| write(&prepared, batch)),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    /// A session that was made: its wallets are no strangers.
    pub(super) fn know(&self, session_id: &str, client_id: &str) {
        self.known_sessions.note(session_id, wallet_lane(client_id));
    }

    fn commit_in(
        &self,
        whose: Whose,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Write<'_, Committed> {
        let id = transition.session.id().clone();
        let settles = transition.session.settled_at().is_some();
        let write = self.write_session(whose, transition, processing_us, Prepared::update);
        Box::pin(async move {
            let committed = write.await?;
            self.changes.publish(&id);
            if settles {
                self.outbox_bell.notify_one();
            }
            Ok(committed)
        })
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
    fn authenticate(&self, digest: &[u8; 32], now: UnixMillis) -> Read<'_, Option<Caller>> {
        let digest = *digest;
        let read = move |reader: &Reader| keys::authenticate(&reader.main, &digest, now);
        let found = self.readers.read(self.known_keys.lane(digest), read);
        Box::pin(async move {
            let Some((caller, last_used)) = found.await? else {
                self.known_keys.forget(digest);
                return Ok(None);
            };
            self.known_keys.note(digest, key_lane(caller.client_id.as_str()));
            let due = self.uses.note(&caller.key_id, last_used, now);
            if !due.is_empty() {
                self.touch(due);
            }
            Ok(Some(caller))
        })
    }

    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        let pinned_live = self.pinned_live;
        let load = move |main: &Connection| trust::snapshot(main, pinned_live);
        self.trust.current(&self.readers, trust::version, load)
    }

    fn create_session(&self, caller: &Caller, transition: Transition) -> Write<'_, Made> {
        let (key_id, quotas) = (caller.key_id.clone(), self.quotas);
        let (id, tenant) = (transition.session.id().clone(), transition.session.tenant().clone());
        let write =
            self.write_session(Whose::of(&tenant), transition, None, move |prepared, batch| {
                let made = prepared.count(batch, quotas)?;
                if made == Made::Yes {
                    prepared.insert(batch, &key_id)?;
                }
                Ok(made)
            });
        Box::pin(async move {
            let made = write.await?;
            if made == Made::Yes {
                self.know(id.as_str(), tenant.as_str());
            }
            Ok(made)
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
        let (sought, sealer) = (id.clone(), self.sealer.clone());
        let whose = self.known_sessions.lane(id.as_str());
        let read = move |reader: &Reader| sessions::read_with_key(reader, &sealer, &sought);
        let (found, id) = (self.fault.read(self.readers.read(whose, read)), id.clone());
        Box::pin(async move {
            let found = found.await?;
            match &found {
                Some(session) => {
                    let lane = wallet_lane(session.tenant().as_str());
                    self.known_sessions.note(id.as_str(), lane);
                }
                None => self.known_sessions.forget(id.as_str()),
            }
            Ok(found)
        })
    }

    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        let (caller, id, sealer) = (caller.clone(), id.clone(), self.sealer.clone());
        self.fault.read(self.readers.read(Whose::of(&caller.client_id), move |reader| {
            let found = sessions::read_callers(&reader.main, &sealer, &caller, &id)?;
            let Some(mut session) = found else { return Ok(None) };
            if session.settled_at().is_some()
                && let Some(result) = claims::read(&reader.claims, &sealer, &session, now)?
            {
                session.restore_result(result);
            }
            Ok(Some(session))
        }))
    }

    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool> {
        let (whose, caller, session) = (Whose::of(&caller.client_id), caller.clone(), id.clone());
        let write = self
            .writer
            .submit_erasing(whose, move |batch| sessions::delete(batch, &caller, &session, now));
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
    ) -> Read<'_, Vec<Result<Session, StoreError>>> {
        let sealer = self.sealer.clone();
        let read = move |reader: &Reader| sessions::due(&reader.main, &sealer, now, limit);
        self.fault.read(self.readers.read_long(Whose::GATEWAY, read))
    }

    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize> {
        let dir = self.dir.clone();
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            claims_file::erase_set_aside(&dir, now);
            let removed = claims::remove_due(batch.claims()?, now)?;
            if removed > 0 {
                batch.erase_soon();
            }
            batch.erase_spent_keys();
            Ok(removed)
        })
    }

    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            sessions::remove_settled(batch.main, before, limit)
        })
    }

    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>> {
        let sealer = self.sealer.clone();
        self.readers
            .read_long(Whose::GATEWAY, move |reader| sessions::verifying(&reader.main, &sealer))
    }

    fn probe(&self) -> Write<'_, ()> {
        let was_written = || self.writer.has_just_written();
        Box::pin(self.probe.ask(was_written, || self.writer.submit(probe::write)))
    }
}

impl EventStore for SqliteStore {
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>> {
        let (caller, id) = (caller.clone(), id.clone());
        self.fault.read(self.readers.read(Whose::of(&caller.client_id), move |reader| {
            events::page(&reader.main, &caller, &id, after, limit)
        }))
    }

    fn watch(&self, id: &SessionId) -> Watch {
        self.changes.watch(id)
    }
}

/// Erases what belongs to no session, or to none that is open: a process died in between.
fn remove_orphans(claims: &Connection, main: &Connection) -> Result<(), StoreError> {
    claims::remove_orphans(claims, main)?;
    session_keys::remove_orphans(claims, main)?;
    claims_file::empty_log(claims)
}
