//! The operator's side of the data directory. It works beside a running server: each call is one
//! transaction, and the server sees it with its next read.

mod admin_tokens;
mod audit;
mod certificates;
mod clients;
mod dead_letters;
mod gateway_keys;
mod listening;
mod reseal;
mod sessions;
mod trust;
mod webhook_hosts;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};

use crate::audit::{AuditEvent, AuditKeys};
use crate::seal::{InstanceKey, Sealer};
use crate::store::directory::{self, DirectoryKey};
use crate::store::interface::StoreError;
use crate::store::key_check::FirstKey;
use crate::store::operator::{Operator, ResealOperator as _, Resealed};
use crate::store::{audit as log, schema};

/// The operator's side of one data directory.
#[derive(Debug)]
pub struct SqliteOperator {
    pub(in crate::store) main: Connection,
    dir: PathBuf,
    sealer: Sealer,
    first: FirstKey,
    pub(in crate::store) audit: AuditKeys,
}

impl SqliteOperator {
    /// Opens the data directory, which is made when there is none. `instance_key`: `None` means
    /// the one in the directory.
    ///
    /// # Errors
    /// It cannot be used, or the key is not its key; the text says what to do.
    pub fn open(dir: &Path, instance_key: Option<&InstanceKey>) -> Result<Self, StoreError> {
        directory::create(dir)?;
        Self::open_existing(dir, instance_key)
    }

    /// Opens the data directory if there is one.
    ///
    /// # Errors
    /// As [`SqliteOperator::open`], and when there is none.
    pub fn open_existing(
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
        // A running server of an older version would not find its tables any more.
        let _nobody_serves = schema::is_older(dir)?.then(|| directory::lock(dir)).transpose()?;
        let main = schema::open_main(dir, key)?;
        let first = FirstKey::new(directory::first_key(&main, &sealer)?, &sealer, &audit);
        found.keep(dir)?;
        Ok(Self { main, dir: dir.to_owned(), sealer, first, audit })
    }

    /// Opens the data directory to reseal it. A key that is asked for and not given does not matter where nothing
    /// is sealed under it.
    ///
    /// # Errors
    /// As [`SqliteOperator::open_existing`].
    pub fn open_to_reseal(
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
}

impl Operator for SqliteOperator {}

/// Records what is done in any case. What stops must not go on because its audit log was altered:
/// then the outcome is the reason why nothing is recorded.
fn record_if_possible(
    transaction: &mut Transaction<'_>,
    keys: &AuditKeys,
    chain: &str,
    mut events: impl Iterator<Item = AuditEvent>,
) -> Result<Result<(), String>, StoreError> {
    let mut entries = transaction.savepoint()?;
    let recorded = events.try_for_each(|event| log::append(&entries, keys, chain, event));
    if recorded.is_err() {
        entries.rollback()?;
    }
    entries.commit()?;
    match recorded {
        Err(StoreError::Failed(why)) => Ok(Err(why)),
        Err(busy) => Err(busy),
        Ok(()) => Ok(Ok(())),
    }
}
