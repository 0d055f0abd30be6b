//! The operator's side of a database. It works beside running gateways: each call is one transaction,
//! and every node sees it with its next read.

mod admin_tokens;
mod audit;
mod certificates;
mod clients;
mod copy;
mod dead_letters;
mod gateway_keys;
mod listening;
mod reseal;
mod server_settings;
mod sessions;
mod trust;
mod webhook_hosts;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::error::{Done, Failure};
use super::pool::{Boxed, Pool, Tx};
use super::{audit as log, instance, schema};
use crate::audit::{AuditEvent, AuditKeys};
use crate::config::Address;
use crate::seal::{InstanceKey, Sealer};
use crate::store::interface::StoreError;
use crate::store::key_check::FirstKey;
use crate::store::operator::{Operator, ResealOperator as _, Resealed};

/// How long a command usually waits for the database.
const ANSWER: Duration = Duration::from_secs(60);

/// One, and one beside a transaction that holds a key.
const CONNECTIONS: usize = 2;

/// The operator's side of one database.
pub struct PostgresOperator {
    desk: Desk,
    /// How long a step of a command waits for the database.
    answer: Duration,
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
}

/// What commands work with.
struct Desk {
    pool: Pool,
    sealer: Sealer,
    audit: AuditKeys,
    /// Whether each key that is asked for has to be given.
    needs_all_keys: bool,
}

impl PostgresOperator {
    /// Connects to a database whose schema is up to date.
    ///
    /// # Errors
    /// It cannot be reached or used, its schema is another one, or the key is not its key; the text
    /// says what to do.
    pub fn open(address: &Address, instance_key: &InstanceKey) -> Result<Self, StoreError> {
        let operator = Self::connect(address, instance_key)?;
        let desk = &operator.desk;
        let first = operator.run(async {
            schema::prepare(&desk.pool, false).await?;
            let first = instance::first_key(&desk.pool, &desk.sealer).await?;
            log::begin(&desk.pool, &desk.audit).await?;
            Ok(first)
        })?;
        desk.pool.note(&Arc::new(FirstKey::new(first, &desk.sealer, &desk.audit)));
        Ok(operator)
    }

    /// Connects to reseal. A key that is asked for and not given does not matter where nothing is sealed under it.
    ///
    /// # Errors
    /// As [`PostgresOperator::open`].
    pub fn open_to_reseal(
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

    /// Waits for it, on a thread of its own: the caller's may belong to another runtime.
    fn run<T: Send>(&self, work: impl Future<Output = Done<T>> + Send) -> Result<T, StoreError> {
        let mut done = None;
        self.wait(Box::pin(async {
            done = Some(work.await?);
            Ok(())
        }))?;
        done.ok_or_else(stopped)
    }

    /// One function for all commands.
    fn wait(&self, work: Boxed<'_, ()>) -> Result<(), StoreError> {
        let runtime = self.runtime.as_ref().ok_or_else(stopped)?;
        let silent = || StoreError::Unavailable("PostgreSQL does not answer".into());
        let wait = async { tokio::time::timeout(self.answer, work).await };
        std::thread::scope(|scope| {
            let done = scope.spawn(|| runtime.block_on(wait)).join().map_err(|_| stopped())?;
            Ok(done.map_err(|_| silent())??)
        })
    }
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

impl Operator for PostgresOperator {}

/// Records what is done in any case. What stops must not go on because its audit log was altered:
/// then the outcome is the reason why nothing is recorded.
async fn record_if_possible(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    chain: &str,
    events: Vec<AuditEvent>,
) -> Done<Result<(), String>> {
    tx.batch_execute("SAVEPOINT entries").await?;
    for event in events {
        match log::append(tx, keys, chain, event).await {
            Ok(()) => {}
            Err(Failure::Store(StoreError::Failed(why))) => {
                tx.batch_execute("ROLLBACK TO SAVEPOINT entries").await?;
                return Ok(Err(why));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Ok(()))
}
