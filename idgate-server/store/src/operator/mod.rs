//! The operator's side of a store. It works while gateways run: each call is atomic, and every
//! gateway sees its effect with the next read.

mod admin_tokens;
mod audit_log;
mod certificates;
mod clients;
mod dead_letters;
mod gateway_keys;
mod listening;
mod registrations;
mod reseal;
mod sessions;
mod trust;
mod webhook_hosts;

use std::path::Path;

pub use self::admin_tokens::AdminTokenRecord;
pub use self::certificates::RequestedKey;
pub use self::clients::{ClientChange, ClientSettings, Logo};
pub use self::gateway_keys::GatewayKeyRecord;
pub use self::listening::Listener;
pub use self::registrations::{KeptRegistration, NewRegistration, RemovedRegistration};
pub use self::sessions::SessionLine;
pub use self::webhook_hosts::{HostRecord, Review};
use super::audit_append::append;
use super::db::Db;
use super::failure::{Done, Failure};
use super::postgres::PostgresOperator;
use super::sqlite::SqliteOperator;
use super::types::StoreError;
use crate::address::Address;
use crate::audit_chain::{AuditEvent, AuditKeys};
use crate::seal::{InstanceKey, Sealer};

/// Operator commands on a store. Calls are blocking, because a command has nothing else to do.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a process has only one
#[non_exhaustive]
pub enum OperatorStore {
    /// A data directory.
    #[doc(hidden)]
    Sqlite(SqliteOperator),
    /// A PostgreSQL database.
    #[doc(hidden)]
    Postgres(PostgresOperator),
}

impl OperatorStore {
    /// Opens the data directory, and creates it if it does not exist. `instance_key`: `None` means
    /// the one in the directory.
    ///
    /// # Errors
    /// The directory cannot be used, or the key is not its key. The text says what to do.
    pub fn open(dir: &Path, instance_key: Option<&InstanceKey>) -> Result<Self, StoreError> {
        SqliteOperator::open(dir, instance_key).map(Self::Sqlite)
    }

    /// Opens the data directory if it exists.
    ///
    /// # Errors
    /// As [`OperatorStore::open`], and if it does not exist.
    pub fn open_existing(
        dir: &Path,
        instance_key: Option<&InstanceKey>,
    ) -> Result<Self, StoreError> {
        SqliteOperator::open_existing(dir, instance_key).map(Self::Sqlite)
    }

    /// Connects to a database whose schema is up to date.
    ///
    /// # Errors
    /// The database cannot be reached or used, its schema has another version, or the key is not
    /// its key. The text says what to do.
    pub fn connect(address: &Address, instance_key: &InstanceKey) -> Result<Self, StoreError> {
        PostgresOperator::open(address, instance_key).map(Self::Postgres)
    }

    /// Opens the data directory to reseal it. A required key may be missing if nothing is sealed
    /// with it.
    ///
    /// # Errors
    /// As [`OperatorStore::open_existing`].
    pub fn open_to_reseal(
        dir: &Path,
        instance_key: Option<&InstanceKey>,
    ) -> Result<Self, StoreError> {
        SqliteOperator::open_to_reseal(dir, instance_key).map(Self::Sqlite)
    }

    /// Connects to reseal. A required key may be missing if nothing is sealed with it.
    ///
    /// # Errors
    /// As [`OperatorStore::connect`].
    pub fn connect_to_reseal(
        address: &Address,
        instance_key: &InstanceKey,
    ) -> Result<Self, StoreError> {
        PostgresOperator::open_to_reseal(address, instance_key).map(Self::Postgres)
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        match self {
            Self::Sqlite(store) => &store.sealer,
            Self::Postgres(store) => &store.desk.sealer,
        }
    }

    fn audit_keys(&self) -> &AuditKeys {
        match self {
            Self::Sqlite(store) => &store.audit,
            Self::Postgres(store) => &store.desk.audit,
        }
    }

    pub(crate) fn read<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.read(work),
            Self::Postgres(store) => store.read(work),
        }
    }

    /// Like `read`, in one snapshot.
    fn look<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.look(work),
            Self::Postgres(store) => store.look(work),
        }
    }

    /// In one transaction.
    fn change<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.change(work),
            Self::Postgres(store) => store.change(work),
        }
    }

    /// Erased values leave SQLite's log as well. If a reader is in the way, they leave with the
    /// next checkpoint.
    fn cut_log(&self) {
        if let Self::Sqlite(store) = self {
            store.cut_log();
        }
    }
}

/// Records a change that happens in any case: an altered audit log must not keep a key active. The
/// outcome is the reason if nothing could be recorded.
async fn record_if_possible(
    db: &Db<'_>,
    keys: &AuditKeys,
    chain: &str,
    events: impl IntoIterator<Item = AuditEvent>,
) -> Done<Result<(), String>> {
    db.command("SAVEPOINT entries").await?;
    for event in events {
        match append(db, keys, chain, event).await {
            Ok(()) => {}
            Err(Failure::Store(StoreError::Failed(why))) => {
                db.command("ROLLBACK TO SAVEPOINT entries").await?;
                return Ok(Err(why));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Ok(()))
}
