//! The operator's side of a database. It works while gateways run: each call is one transaction,
//! and every node sees its effect with the next read.

mod copy;
mod reseal;
mod server_settings;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::error::{Done, Failure};
use super::pool::{Pool, TRIES, moment};
use super::{audit, instance, schema};
use crate::address::Address;
use crate::audit::proof::EntryRow;
use crate::audit::report::{Log, Moment};
use crate::audit::rows as log;
use crate::audit_chain::AuditKeys;
use crate::db::Db;
use crate::key_check::FirstKey;
use crate::seal::{InstanceKey, Sealer};
use crate::types::{Resealed, StoreError};

/// How long a command usually waits for the database.
const ANSWER: Duration = Duration::from_secs(60);

/// One connection, and a second one during a transaction that locks a key.
const CONNECTIONS: usize = 2;

/// The operator's side of one database.
pub struct PostgresOperator {
    pub(crate) desk: Desk,
    /// How long one step of a command waits for the database.
    answer: Duration,
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
}

/// The parts that commands work with.
pub(crate) struct Desk {
    pool: Pool,
    pub(crate) sealer: Sealer,
    pub(crate) audit: AuditKeys,
    /// Whether every required key has to be given.
    needs_all_keys: bool,
}

impl PostgresOperator {
    /// Connects to a database whose schema is up to date.
    ///
    /// # Errors
    /// The database cannot be reached or used, its schema has another version, or the key is not
    /// its key. The text says what to do.
    pub(crate) fn open(address: &Address, instance_key: &InstanceKey) -> Result<Self, StoreError> {
        let operator = Self::connect(address, instance_key)?;
        let desk = &operator.desk;
        let first = operator.run(async {
            schema::prepare(&desk.pool, false).await?;
            let first = instance::first_key(&desk.pool, &desk.sealer).await?;
            audit::begin(&desk.pool, &desk.audit).await?;
            Ok(first)
        })?;
        desk.pool.note(&Arc::new(FirstKey::new(first, &desk.sealer, &desk.audit)));
        Ok(operator)
    }

    /// Connects to reseal. A required key may be missing if nothing is sealed with it.
    ///
    /// # Errors
    /// As [`PostgresOperator::open`].
    pub(crate) fn open_to_reseal(
        address: &Address,
        instance_key: &InstanceKey,
    ) -> Result<Self, StoreError> {
        let refused = match Self::open(address, instance_key) {
            Err(error @ StoreError::Failed(_)) => error,
            opened => return opened,
        };
        let mut operator = Self::connect(address, instance_key)?;
        operator.run(async { schema::prepare(&operator.desk.pool, false).await })?;
        operator.desk.needs_all_keys = false;
        match operator.sealed()? {
            Resealed { unreadable: 0, .. } => Ok(operator),
            _ => Err(refused),
        }
    }

    fn connect(address: &Address, instance_key: &InstanceKey) -> Result<Self, StoreError> {
        let cannot = |error| StoreError::Unavailable(format!("cannot start: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let desk = Desk {
            pool: Pool::of_a_command(address, CONNECTIONS)?,
            sealer: Sealer::new(instance_key)?,
            audit: AuditKeys::new(instance_key)?,
            needs_all_keys: true,
        };
        Ok(Self { desk, answer: ANSWER, runtime: Some(runtime) })
    }

    /// Blocks until the work is done. It runs on a thread of its own, because the caller's thread
    /// may belong to another runtime.
    fn run<T: Send>(&self, work: impl Future<Output = Done<T>> + Send) -> Result<T, StoreError> {
        self.block(async move || work.await)
    }

    pub(crate) fn read<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        self.block(async || work(&Db::Client(&self.desk.pool.client().await?)).await)
    }

    /// Like `read`, in one snapshot.
    pub(crate) fn look<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        self.block(async || {
            let mut client = self.desk.pool.client().await?;
            let moment = moment(&mut client).await?;
            work(&Db::Transaction(&moment)).await
        })
    }

    /// In one transaction.
    pub(crate) fn change<T: Send>(
        &self,
        work: impl AsyncFn(&Db<'_>) -> Done<T> + Sync,
    ) -> Result<T, StoreError> {
        self.block(async || {
            let mut tried = 0;
            loop {
                tried += 1;
                match self.change_once(&work).await {
                    Err(Failure::Again(_)) if tried < TRIES => {}
                    done => return done,
                }
            }
        })
    }

    async fn change_once<T>(&self, work: &impl AsyncFn(&Db<'_>) -> Done<T>) -> Done<T> {
        let mut client = self.desk.pool.client().await?;
        let tx = client.transaction().await?;
        let done = work(&Db::Transaction(&tx)).await?;
        self.desk.pool.finish(tx, 1).await?;
        Ok(done)
    }

    /// The same for work that stays on one thread.
    fn block<T: Send>(&self, work: impl AsyncFnOnce() -> Done<T> + Send) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().ok_or_else(stopped)?;
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                runtime.block_on(async { tokio::time::timeout(self.answer, work()).await })
            });
            Ok(work.join().map_err(|_| stopped())?.map_err(|_| silent())??)
        })
    }
}

impl Log for PostgresOperator {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        self.look(async |db| log::moment(db, &self.desk.audit, client).await)
    }

    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        self.read(async |db| log::entries(db, client_id, bounds, limit).await)
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("PostgreSQL does not answer".into())
}

fn stopped() -> StoreError {
    StoreError::Failed("the command was stopped".into())
}

impl Drop for PostgresOperator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for PostgresOperator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostgresOperator")
    }
}
