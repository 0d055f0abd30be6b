//! The operator's side of the data directory. It works while a server runs: each call is one
//! transaction, and the server sees its effect with the next read.

mod reseal;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::audit::proof::EntryRow;
use crate::audit::report::{Log, Moment};
use crate::audit_chain::AuditKeys;
use crate::db::{Db, at_once, at_one_moment};
use crate::failure::Done;
use crate::instance_keys::first_key;
use crate::key_check::FirstKey;
use crate::seal::{InstanceKey, Sealer};
use crate::sqlite::audit::Rows;
use crate::sqlite::directory;
use crate::sqlite::directory::{Change, DirectoryKey};
use crate::sqlite::files::truncate_log;
use crate::sqlite::schema;
use crate::types::Resealed;
use crate::types::StoreError;

/// The operator's side of one data directory.
#[derive(Debug)]
pub struct SqliteOperator {
    pub(crate) main: Connection,
    dir: PathBuf,
    pub(crate) sealer: Sealer,
    first: FirstKey,
    pub(crate) audit: AuditKeys,
}

impl SqliteOperator {
    /// Opens the data directory, and creates it if it does not exist. `instance_key`: `None` means
    /// the one in the directory.
    ///
    /// # Errors
    /// The directory cannot be used, or the key is not its key. The text says what to do.
    pub(crate) fn open(dir: &Path, instance_key: Option<&InstanceKey>) -> Result<Self, StoreError> {
        directory::create(dir)?;
        Self::open_existing(dir, instance_key)
    }

    /// Opens the data directory if it exists.
    ///
    /// # Errors
    /// As [`SqliteOperator::open`], and if it does not exist.
    pub(crate) fn open_existing(
        dir: &Path,
        instance_key: Option<&InstanceKey>,
    ) -> Result<Self, StoreError> {
        if !dir.is_dir() {
            return Err(StoreError::Failed(format!(
                "there is no data directory {}; set IDGATE_DATA_DIR, or make one with \
                 `idgate client create` or `idgate trust add`",
                dir.display()
            )));
        }
        let found = DirectoryKey::find(dir, instance_key)?;
        let key = &found.key;
        let (sealer, audit) = (Sealer::new(key)?, AuditKeys::new(key)?);
        // A running server of an older version would no longer find its tables.
        let _nobody_serves = schema::is_older(dir)?.then(|| directory::lock(dir)).transpose()?;
        let main = schema::open_main(dir, key)?;
        let check = at_once(first_key(&Db::sqlite(&main), &sealer))?;
        let first = FirstKey::new(check, &sealer, &audit);
        found.keep(dir)?;
        Ok(Self { main, dir: dir.to_owned(), sealer, first, audit })
    }

    /// Opens the data directory to reseal it. A required key may be missing if nothing is sealed
    /// with it.
    ///
    /// # Errors
    /// As [`SqliteOperator::open_existing`].
    pub(crate) fn open_to_reseal(
        dir: &Path,
        instance_key: Option<&InstanceKey>,
    ) -> Result<Self, StoreError> {
        let refused = match Self::open_existing(dir, instance_key) {
            Err(error @ StoreError::Failed(_)) => error,
            opened => return opened,
        };
        let is_usable = dir.is_dir() && !schema::is_older(dir).unwrap_or(true);
        let found = DirectoryKey::find(dir, instance_key).ok().filter(|_| is_usable);
        let Some(DirectoryKey { key, .. }) = found else { return Err(refused) };
        let (sealer, audit) = (Sealer::new(&key)?, AuditKeys::new(&key)?);
        let main = schema::open_main(dir, &key)?;
        let first = FirstKey::new(None, &sealer, &audit);
        let store = Self { main, dir: dir.to_owned(), sealer, first, audit };
        match store.sealed()? {
            Resealed { unreadable: 0, .. } => Ok(store),
            _ => Err(refused),
        }
    }

    pub(crate) fn read<T>(
        &self,
        work: impl AsyncFnOnce(&Db<'_>) -> Done<T>,
    ) -> Result<T, StoreError> {
        at_once(work(&Db::sqlite(&self.main)))
    }

    /// Like `read`, in one snapshot.
    pub(crate) fn look<T>(
        &self,
        work: impl AsyncFnOnce(&Db<'_>) -> Done<T>,
    ) -> Result<T, StoreError> {
        at_one_moment(&self.main, work)
    }

    /// In one transaction.
    pub(crate) fn change<T>(
        &self,
        work: impl AsyncFnOnce(&Db<'_>) -> Done<T>,
    ) -> Result<T, StoreError> {
        let change = Change::begin(&self.main, &self.first)?;
        let done = at_once(work(&Db::sqlite(&change)))?;
        change.commit()?;
        Ok(done)
    }

    /// Erased values leave the log as well. If a reader is in the way, they leave with the next
    /// checkpoint.
    pub(crate) fn cut_log(&self) {
        let _later = truncate_log(&self.main);
    }
}

impl Log for SqliteOperator {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        Rows { main: &self.main, keys: &self.audit }.moment(client)
    }

    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        Rows { main: &self.main, keys: &self.audit }.entries(client_id, bounds, limit)
    }
}
