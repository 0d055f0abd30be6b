//! The store in SQLite: two files, one writing thread, one reader per core.
//!
//! `idgate.db` holds everything that lasts. `claims.db` holds sealed results, 30 seconds each, and
//! is emptied for good: rows are wiped when deleted, and the log is cut behind them.

mod api_keys;
mod audit;
mod endpoints;
mod idempotency;
mod metrics;
mod operator;
mod outbox;
mod pages;
mod reports;
mod sessions;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use idgate_core::ids::{SessionId, TenantId};
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use rusqlite::Connection;
use tokio::sync::Notify;

pub(super) use self::operator::SqliteOperator;
use super::changes::Changes;
use super::cursor::List;
use super::db::{Db, at_once, at_one_moment};
use super::directory::{self, Change, DirectoryKey};
use super::disk::Disk;
use super::fault::Fault;
use super::held::{Asking, Held};
use super::interface::{
    Caller, FetchedList, InForce, ListSource, PageError, Read, Refreshed, SessionFound, Store,
    StoreError, Write,
};
use super::key_check::FirstKey;
use super::known::{self, Known, admin_lane, key_lane};
use super::lanes::Whose;
use super::numbers::Numbers;
use super::probe::{self, Probe};
use super::readers::{Reader, Readers};
use super::trust::{entries, listed_rows};
use super::uses::Uses;
use super::writer::Writer;
use super::{
    certificates, claims, claims_file, files, gateway_keys, keys, quotas, reseal, schema,
    session_keys, sessions as session_rows,
};
use crate::audit::{AuditKeys, OPERATOR_CHAIN, SYSTEM};
use crate::clock::Moment;
use crate::config::{Environment, Quotas};
use crate::gateway_key::{Certificates, GatewayKeys};
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
    audit: Arc<AuditKeys>,
    changes: Arc<Changes>,
    /// Rings when a session has settled.
    outbox_bell: Arc<Notify>,
    telemetry: Arc<Telemetry>,
    pinned_live: bool,
    quotas: Quotas,
    pub(super) numbers: Arc<Asking>,
    trust: Arc<Held<TrustSnapshot>>,
    gateway_keys: Arc<Held<GatewayKeys>>,
    certificates: Arc<Held<Certificates>>,
    uses: Uses,
    pub(super) known_keys: Known,
    known_sessions: Known,
    probe: Probe,
    dir: PathBuf,
    disk: Arc<Disk>,
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
        let (sealer, audit) = (Sealer::new(key)?, AuditKeys::new(key)?);
        let mut main = schema::open_main(dir, key)?;
        let first = FirstKey::new(directory::first_key(&main, &sealer)?, &sealer, &audit);
        let change = Change::begin(&main, &first)?;
        at_once(gateway_keys::ensure(&Db::sqlite(&change), &sealer, now))?;
        change.commit()?;
        if at_once(certificates::forget(&Db::sqlite(&main), now))? > 0 {
            // Unless a command is reading: then with the next checkpoint.
            let _later = files::truncate_log(&main);
        }
        found.keep(dir)?;
        let mut claims = files::open_claims(dir)?;
        directory::same_database(&main, &claims)?;
        reseal::claims(&mut claims, &main, key, &first)?;
        // On a full disk the counts and an earlier table are those of before, and what belongs to nothing
        // stays longer.
        let ordered = claims::order_by_end(&mut claims);
        for tidied in [ordered, quotas::recount(&mut main), remove_orphans(&claims, &main)] {
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
                (audit, first),
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
            numbers: Arc::default(),
            trust: Arc::default(),
            gateway_keys: Arc::default(),
            certificates: Arc::default(),
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

    /// A page of a client's list, from where `cursor` says, and the cursor of the next.
    fn page<T: Send + 'static>(
        &self,
        list: List,
        client_id: &TenantId,
        (cursor, now): (Option<&str>, UnixMillis),
        read: impl FnOnce(&Connection, i64) -> Result<(Vec<T>, Option<i64>), StoreError>
        + Send
        + 'static,
    ) -> Read<'_, (Vec<T>, Option<String>), PageError> {
        let whose = Whose::of(client_id);
        let page = move |before| {
            self.readers.read_long(whose, move |reader: &Reader| read(&reader.main, before))
        };
        list.page(&self.sealer, client_id.as_str(), (cursor, now), page)
    }

    fn trust_of(&self, numbers: Numbers) -> Read<'_, Arc<TrustSnapshot>> {
        let pinned_live = self.pinned_live;
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| entries::snapshot(db, pinned_live).await)
        };
        self.trust.current(&self.readers, numbers, |numbers| numbers.trust, load)
    }

    fn gateway_keys_of(&self, numbers: Numbers) -> Read<'_, Arc<GatewayKeys>> {
        let sealer = self.sealer.clone();
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| gateway_keys::read(db, &sealer).await)
        };
        self.gateway_keys.current(&self.readers, numbers, |numbers| numbers.gateway_keys, load)
    }

    fn certificates_of(&self, numbers: Numbers) -> Read<'_, Arc<Certificates>> {
        let sealer = self.sealer.clone();
        let load = move |main: &Connection| {
            at_one_moment(main, async |db| certificates::read(db, &sealer).await)
        };
        self.certificates.current(&self.readers, numbers, |numbers| numbers.certificates, load)
    }

    /// Reads who has a key and when that was last used, and what else `read` reads for them.
    fn by_key<T: Send + 'static>(
        &self,
        digest: [u8; 32],
        now: UnixMillis,
        read: impl FnOnce(&Reader, &Caller) -> T + Send + 'static,
    ) -> Read<'static, Option<(Caller, Option<UnixMillis>, T)>> {
        let numbers = self.numbers.clone();
        self.readers.read(self.known_keys.lane(digest), move |reader: &Reader| {
            numbers.with(&reader.main, |since, _| {
                let found = keys::authenticate(&reader.main, &digest, since, now)?;
                Ok(found.map(|(caller, last_used)| {
                    let read = read(reader, &caller);
                    (caller, last_used, read)
                }))
            })
        })
    }

    /// Notes that a key was used, or that it opens nothing.
    fn note_key<T>(
        &self,
        digest: [u8; 32],
        now: UnixMillis,
        found: Option<(Caller, Option<UnixMillis>, T)>,
    ) -> Option<(Caller, T)> {
        let Some((caller, last_used, read)) = found else {
            self.known_keys.forget(digest);
            return None;
        };
        self.known_keys.note(digest, key_lane(caller.client_id.as_str()));
        let due = self.uses.note(&caller.key_id, last_used, now);
        if !due.is_empty() {
            self.touch(due);
        }
        Some((caller, read))
    }

    /// Stores the uses of keys, and waits for nothing.
    fn touch(&self, uses: Vec<(String, UnixMillis)>) {
        // Queued already; nobody needs the answer, and a full queue only costs this one time.
        drop(self.writer.submit(move |batch| {
            uses.iter().try_for_each(|(key_id, at)| keys::touch(batch.main, key_id, *at))
        }));
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
        let (digest, found) = (*digest, self.by_key(*digest, now, |_, _| ()));
        Box::pin(async move {
            let found = self.note_key(digest, now, found.await?);
            Ok(found.map(|(caller, ())| caller))
        })
    }

    fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (digest, id, sealer) = (*digest, session.clone(), self.sealer.clone());
        let found = self.by_key(digest, now, move |reader, caller| {
            session_rows::read_with_result(reader, &sealer, caller, &id, now)
        });
        Box::pin(async move {
            let Some((caller, session)) = self.note_key(digest, now, found.await?) else {
                return Ok(None);
            };
            let session = self.fault.read(Box::pin(async { session })).await;
            Ok(Some((caller, session)))
        })
    }

    fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        let digest = *digest;
        let read = move |reader: &Reader| at_once(keys::admin(&Db::sqlite(&reader.main), &digest));
        let found = self.readers.read(self.known_keys.lane(digest), read);
        Box::pin(async move {
            let found = found.await?;
            match &found {
                Some(id) => self.known_keys.note(digest, admin_lane(id)),
                None => self.known_keys.forget(digest),
            }
            Ok(found)
        })
    }

    fn origins(&self, client_id: &TenantId) -> Read<'_, Vec<String>> {
        let sought = client_id.clone();
        let read = move |reader: &Reader| {
            at_once(keys::origins(&Db::sqlite(&reader.main), sought.as_str()))
        };
        self.fault.read(self.readers.read(Whose::of(client_id), read))
    }

    fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        let numbers = self.numbers.since(&self.readers, since);
        Box::pin(async move {
            let numbers = numbers.await?;
            let (trust, gateway_keys, certificates) = tokio::try_join!(
                self.trust_of(numbers),
                self.gateway_keys_of(numbers),
                self.certificates_of(numbers),
            )?;
            Ok(InForce { trust, gateway_keys, certificates })
        })
    }

    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.trust_of(numbers.await?).await })
    }

    fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.gateway_keys_of(numbers.await?).await })
    }

    fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        let numbers = self.numbers.since(&self.readers, Moment::now());
        Box::pin(async move { self.certificates_of(numbers.await?).await })
    }

    fn list_sources(&self) -> Read<'_, Vec<ListSource>> {
        self.readers.read_long(Whose::GATEWAY, |reader| {
            at_once(listed_rows::sources(&Db::sqlite(&reader.main)))
        })
    }

    fn refresh_list(&self, fetched: FetchedList, now: UnixMillis) -> Write<'_, Refreshed> {
        self.writer.submit(move |batch| {
            let db = Db::sqlite(batch.main);
            let (outcome, events) = at_once(listed_rows::refresh(&db, &fetched, (SYSTEM, now)))?;
            for event in events {
                batch.audit(OPERATOR_CHAIN, event)?;
            }
            Ok(outcome)
        })
    }

    fn note_list_failure(&self, url: String, why: String, now: UnixMillis) -> Write<'_, ()> {
        self.writer.submit(move |batch| {
            at_once(listed_rows::note(&Db::sqlite(batch.main), &url, Some(&why), now))
        })
    }

    fn forget_certificates(&self, now: UnixMillis) -> Write<'_, usize> {
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            let removed = at_once(certificates::forget(&Db::sqlite(batch.main), now))?;
            if removed > 0 {
                batch.erase_main_soon();
            }
            Ok(removed)
        })
    }

    fn erase_signers(&self, now: UnixMillis) -> Write<'_, usize> {
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            let wiped = at_once(gateway_keys::wipe(&Db::sqlite(batch.main), now))?;
            if wiped > 0 {
                batch.erase_main_soon();
            }
            Ok(wiped)
        })
    }

    fn next_start(&self) -> Read<'_, Option<String>> {
        let sealer = self.sealer.clone();
        let look = move |reader: &Reader| match directory::require_key(&reader.main, &sealer) {
            Err(StoreError::Failed(why)) => Ok(Some(why)),
            found => found.map(|()| None),
        };
        self.readers.read(Whose::GATEWAY, look)
    }

    fn probe(&self) -> Write<'_, ()> {
        let was_written = || self.writer.has_just_written();
        Box::pin(self.probe.ask(was_written, || self.writer.submit(probe::write)))
    }
}

/// Erases what belongs to no session, or to none that is open: a process died in between.
fn remove_orphans(claims: &Connection, main: &Connection) -> Result<(), StoreError> {
    claims::remove_orphans(claims, main)?;
    session_keys::remove_orphans(claims, main)?;
    claims_file::empty_log(claims)
}
