//! The store in SQLite: two files, one writing thread, one reader per core.
//!
//! `idgate.db` holds everything that lasts. `claims.db` holds sealed results for 30 seconds each.
//! Its contents are erased permanently: deleted rows are overwritten, and the log is truncated
//! after them.

pub(crate) mod audit;
mod authentication;
pub(crate) mod backup;
pub(crate) mod claims;
pub(crate) mod claims_file;
pub(crate) mod directory;
mod disk;
mod disk_reserve;
pub(crate) mod error;
pub(crate) mod examine;
pub(crate) mod files;
mod gauges;
mod interrupt;
mod lane_cache;
pub(crate) mod missing_settings;
mod operator;
mod outbox;
mod probe;
pub(crate) mod readers;
pub(crate) mod rekey;
pub(crate) mod reseal;
pub(crate) mod schema;
mod session_keys;
mod session_rows;
mod sessions;
pub(crate) mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use idgate_core::{TenantId, UnixMillis};
use rusqlite::Connection;

use self::directory::{Change, DirectoryKey};
use self::disk::Disk;
use self::error::begin;
use self::lane_cache::LaneCache;
pub(super) use self::operator::SqliteOperator;
use self::probe::Probe;
use self::readers::{Reader, Readers};
use self::writer::Writer;
use super::cache::Extent;
use super::db::{Db, at_once, at_one_moment};
use super::env::{Env, LeaseClock, UseCase};
use super::instance_keys::first_key;
use super::key_check::FirstKey;
use super::lanes::LaneKey;
use super::shared_reads::SharedReads;
use super::types::{Read, StoreError, Write};
use super::{certificates, gateway_keys};
use crate::audit_chain::AuditEvent;
use crate::environment::Environment;
use crate::quotas::Quotas;
use crate::seal::InstanceKey;

/// Options of a gateway's store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions<'a> {
    /// `None`: the one in the data directory.
    pub instance_key: Option<&'a InstanceKey>,
    /// Pinned signers serve live sessions in development only.
    pub environment: Environment,
    /// The limits of a client.
    pub quotas: Quotas,
}

/// The store of one gateway on one data directory.
pub(super) struct SqliteStore {
    pub(super) env: Arc<Env>,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    pub(super) known_keys: LaneCache,
    pub(super) known_sessions: LaneCache,
    probe: Probe,
    dir: PathBuf,
    disk: Arc<Disk>,
    /// Dropped last: the directory becomes free when everything is written.
    _lock: File,
}

impl SqliteStore {
    /// Opens the data directory for this process alone, and creates it if it does not exist.
    /// Results that have expired at `now` are erased from every file before anything can be read.
    ///
    /// # Errors
    /// The directory cannot be used, another server uses it, or the key is not its key. The text
    /// says what to do.
    pub(super) fn open(
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
        let clock = (LeaseClock::Callers, String::new());
        let env = Arc::new(Env::new(key, options.environment, options.quotas, clock)?);
        let mut main = schema::open_main(dir, key)?;
        let check = at_once(first_key(&Db::sqlite(&main), &env.sealer))?;
        let first = FirstKey::new(check, &env.sealer, &env.audit);
        let change = Change::begin(&main, &first)?;
        at_once(gateway_keys::ensure(&Db::sqlite(&change), &env.sealer, now))?;
        change.commit()?;
        if at_once(certificates::forget(&Db::sqlite(&main), now))? > 0 {
            // If a command is reading, the next checkpoint does it.
            let _later = files::truncate_log(&main);
        }
        found.keep(dir)?;
        let mut claims = files::open_claims(dir)?;
        directory::same_database(&main, &claims)?;
        reseal::claims(&mut claims, &main, key, &first)?;
        // On a full disk this work is postponed: the counts and the earlier table stay as they
        // were, and orphaned rows stay longer.
        let ordered = claims::order_by_end(&mut claims);
        for tidied in [ordered, recount(&mut main), remove_orphans(&claims, &main)] {
            disk.note(&tidied);
            if !matches!(tidied, Err(StoreError::Full)) {
                tidied?;
            }
        }
        let cores = available_parallelism().map_or(1, usize::from);
        // Names that cannot be read now become known with their first use.
        let known_keys = lane_cache::keys(&main).unwrap_or_default();
        let known_sessions = lane_cache::sessions(&main).unwrap_or_default();
        Ok(Self {
            readers: Readers::open(dir, cores)?,
            writer: Writer::start(main, claims, first, &env, disk.clone())?,
            env,
            known_keys,
            known_sessions,
            probe: Probe::default(),
            dir: dir.to_owned(),
            disk,
            _lock: lock,
        })
    }

    pub(super) fn next_start(&self) -> Read<'static, Option<String>> {
        let env = self.env.clone();
        let look = move |reader: &Reader| match directory::require_key(&reader.main, &env.sealer) {
            Err(StoreError::Failed(why)) => Ok(Some(why)),
            found => found.map(|()| None),
        };
        self.readers.read(LaneKey::GATEWAY, look)
    }

    pub(super) fn probe(&self) -> Write<'_, ()> {
        let was_written = || self.writer.has_just_written();
        Box::pin(self.probe.ask(was_written, || self.writer.submit(probe::write)))
    }
}

/// Runs use cases on the files.
impl SqliteStore {
    pub(super) fn read<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.readers.read(lane, move |reader| at_once(work(&with, &Db::sqlite(&reader.main), &env)))
    }

    pub(super) fn read_long<A, T>(
        &self,
        lane: LaneKey,
        with: A,
        work: UseCase<A, T>,
    ) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.readers
            .read_long(lane, move |reader| at_once(work(&with, &Db::sqlite(&reader.main), &env)))
    }

    pub(super) fn look<A, T>(&self, lane: LaneKey, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.readers.read_long(lane, move |reader| {
            at_one_moment(&reader.main, async |db| work(&with, db, &env).await)
        })
    }

    pub(super) fn share<T: Clone + Send + 'static>(
        &self,
        reads: &Arc<SharedReads<T>>,
        extent: Extent,
        work: UseCase<(), T>,
    ) -> Read<'static, T> {
        let env = self.env.clone();
        match extent {
            Extent::Row => self.readers.read_together(reads, move |reader| {
                at_once(work(&(), &Db::sqlite(&reader.main), &env))
            }),
            Extent::Moment => self.readers.load_together(reads, move |reader| {
                at_one_moment(&reader.main, async |db| work(&(), db, &env).await)
            }),
        }
    }

    pub(super) fn write<A, T>(
        &self,
        lane: LaneKey,
        with: A,
        work: UseCase<A, T>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.writer
            .submit_for(lane, move |batch| at_once(work(&with, &Db::sqlite(batch.main), &env)))
    }

    pub(super) fn erase<A, T>(&self, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.writer.submit_erasing(LaneKey::GATEWAY, move |batch| {
            at_once(work(&with, &Db::sqlite(batch.main), &env))
        })
    }

    pub(super) fn erase_soon<A>(&self, with: A, work: UseCase<A, usize>) -> Write<'static, usize>
    where
        A: Send + Sync + 'static,
    {
        let env = self.env.clone();
        self.writer.submit_erasing(LaneKey::GATEWAY, move |batch| {
            let erased = at_once(work(&with, &Db::sqlite(batch.main), &env))?;
            if erased > 0 {
                batch.erase_main_soon();
            }
            Ok(erased)
        })
    }

    pub(super) fn change_chains<A, T>(&self, with: A, work: UseCase<A, T>) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let env = self.env.clone();
        self.writer.submit(move |batch| {
            batch.chains.write()?;
            at_once(work(&with, &Db::sqlite(batch.main), &env))
        })
    }

    pub(super) fn record<A, T>(
        &self,
        client_id: &TenantId,
        with: A,
        work: UseCase<A, (T, Option<AuditEvent>)>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (env, client_id) = (self.env.clone(), client_id.clone());
        self.writer.submit_for(LaneKey::of(&client_id), move |batch| {
            let (done, event) = at_once(work(&with, &Db::sqlite(batch.main), &env))?;
            if let Some(event) = event {
                batch.audit(client_id.as_str(), event)?;
            }
            Ok(done)
        })
    }
}

/// Stores the uses of keys that are not stored yet, before the writer ends.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.store_uses(self.env.uses.unstored());
    }
}

/// Erases results without a session, and keys without an open session. They exist if a process died
/// in between.
fn remove_orphans(claims: &Connection, main: &Connection) -> Result<(), StoreError> {
    claims::remove_orphans(claims, main)?;
    claims_file::empty_log(claims)
}

/// Counts all open sessions again when a gateway starts, whatever happened to the file before.
fn recount(main: &mut Connection) -> Result<(), StoreError> {
    let transaction = begin(main)?;
    transaction.execute("DELETE FROM open_sessions", [])?;
    transaction.execute(
        "INSERT INTO open_sessions (client_id, count) SELECT client_id, count(*) FROM sessions \
         WHERE settled_at IS NULL GROUP BY client_id",
        [],
    )?;
    Ok(transaction.commit()?)
}
