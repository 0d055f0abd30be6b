//! Connections, and their units of work: one statement, or one transaction that is retried if it
//! conflicted with another.
//!
//! Transactions take locks in this order, so that no two wait for each other: the turn of a client,
//! by a node that writes its changes together; session rows of one client in the order of their
//! ids; the client's number of open sessions; the head of a chain and its slice of the number of
//! entries; notifications. A transaction with several chains takes them in the order of their
//! names. A transaction that changes trust locks its version number first.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use deadpool_postgres::{
    Client, Manager, ManagerConfig, PoolError, RecyclingMethod, Runtime, TimeoutType, Timeouts,
    Transaction,
};
use tokio_postgres::{IsolationLevel, NoTls};

use super::super::instance_keys;
use super::super::key_check::FirstKey;
use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::tls;
use crate::address::Address;
use crate::db::Db;
use crate::failure::Boxed;
use idgate_base::clock::Stopwatch;
use idgate_base::telemetry::{PoolLoad, Telemetry};

/// How long a use case may take before the database counts as unreachable.
pub(super) const ANSWER: Duration = Duration::from_secs(14);

/// How often a transaction is tried.
pub(super) const TRIES: usize = 3;
/// How long a request waits for a connection before load is shed.
const TURN: Duration = Duration::from_secs(3);
/// How long connecting may take, including TLS and authentication.
const MAKING: Duration = Duration::from_millis(1900);
/// The same for a command, for which one person waits and no request does.
const MAKING_FOR_A_COMMAND: Duration = Duration::from_secs(30);

/// A transaction that is open.
pub(crate) type Tx<'c> = Transaction<'c>;

/// A transaction whose reads all see one snapshot.
pub(super) async fn moment(client: &mut Client) -> Done<Tx<'_>> {
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    Ok(moment.read_only(true).start().await?)
}

/// The connections of one process.
#[derive(Clone)]
pub(crate) struct Pool {
    connections: deadpool_postgres::Pool,
    /// Receives the duration of commits.
    telemetry: Option<Arc<Telemetry>>,
    /// The key that seals, whose check is stored with the first change that seals something.
    first: OnceLock<Arc<FirstKey>>,
}

impl Pool {
    /// At most `size` connections to the database, opened when needed.
    ///
    /// # Errors
    /// TLS cannot be set up; the text says what to do.
    pub(crate) fn new(address: &Address, size: usize) -> Result<Self, StoreError> {
        Self::making_within(MAKING, address, size)
    }

    /// Like `new`, for a command, which waits for a database that is slow to accept connections.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub(crate) fn of_a_command(address: &Address, size: usize) -> Result<Self, StoreError> {
        Self::making_within(MAKING_FOR_A_COMMAND, address, size)
    }

    fn making_within(making: Duration, address: &Address, size: usize) -> Result<Self, StoreError> {
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = if address.is_encrypted {
            let tls = tls::connector(address.roots_file.as_deref()).map_err(StoreError::Failed)?;
            Manager::from_config(address.config.clone(), tls, settings)
        } else {
            Manager::from_config(address.config.clone(), NoTls, settings)
        };
        let timeouts = Timeouts { wait: Some(TURN), create: Some(making), recycle: Some(making) };
        let pool = deadpool_postgres::Pool::builder(manager)
            .max_size(size)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build();
        let connections = pool.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { connections, telemetry: None, first: OnceLock::new() })
    }

    /// Also counts what this pool commits.
    pub(crate) fn counted(mut self, telemetry: Arc<Telemetry>) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// The same pool, for work that seals nothing lasting.
    pub(crate) fn not_noting(&self) -> Self {
        Self { first: OnceLock::new(), ..self.clone() }
    }

    /// From now on a transaction that seals something also stores the key's check.
    pub(crate) fn note(&self, first: &Arc<FirstKey>) {
        // The first one, set at the start, stays.
        let _kept = self.first.set(first.clone());
    }

    /// A connection, as soon as it is this request's turn.
    pub(crate) async fn client(&self) -> Done<Client> {
        self.connections.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Failure::Store(StoreError::Busy),
            PoolError::Backend(error) => error.into(),
            error => Failure::Store(StoreError::Unavailable(format!("PostgreSQL: {error}"))),
        })
    }

    /// How many connections are used and idle, how many requests wait for one, and the limit.
    pub(crate) fn load(&self) -> PoolLoad {
        let status = self.connections.status();
        let (idle, waiting) = (status.available, status.waiting);
        let (busy, limit) = (status.size.saturating_sub(idle), status.max_size);
        PoolLoad { busy, idle, waiting, limit }
    }

    /// Runs `work` in a transaction and commits. If it conflicted with another transaction, it
    /// starts over.
    pub(crate) async fn transact<E: Sync + ?Sized, T: Send>(
        &self,
        with: &E,
        work: impl for<'a> Fn(&'a E, &'a Tx<'a>) -> Boxed<'a, T> + Sync,
    ) -> Done<T> {
        self.transact_all(with, |_| 1, work).await
    }

    /// Like `transact`, for several changes. Their number is read right before the commit.
    pub(crate) async fn transact_all<E: Sync + ?Sized, T: Send>(
        &self,
        with: &E,
        changes: impl Fn(&E) -> usize + Sync,
        work: impl for<'a> Fn(&'a E, &'a Tx<'a>) -> Boxed<'a, T> + Sync,
    ) -> Done<T> {
        let job = Job { with, changes, work, done: Mutex::new(None) };
        self.try_job(&job).await?;
        let done = job.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.ok_or_else(|| Failure::failed("a transaction ended without its outcome"))
    }

    /// A single instance for all transactions: a generic function would be compiled a hundred
    /// times.
    async fn try_job(&self, job: &dyn Work) -> Done<()> {
        let mut tried = 0;
        loop {
            tried += 1;
            match self.try_once(job).await {
                Err(Failure::Again(_)) if tried < TRIES => {}
                done => return done,
            }
        }
    }

    async fn try_once(&self, job: &dyn Work) -> Done<()> {
        let mut client = self.client().await?;
        let tx = client.transaction().await?;
        job.work(&tx).await?;
        self.finish(tx, job.changes()).await
    }

    /// Commits. If something was sealed, the key's check is stored as well.
    pub(super) async fn finish(&self, tx: Tx<'_>, changes: usize) -> Done<()> {
        let due = self.first.get().and_then(|first| Some((first, first.due()?)));
        if let Some((_, check)) = due {
            instance_keys::note(&Db::Transaction(&tx), check).await?;
        }
        let begun = Stopwatch::new();
        commit(tx).await?;
        if let Some((first, _)) = due {
            first.is_noted();
        }
        if let Some(telemetry) = &self.telemetry {
            telemetry.commit(begun.elapsed_us(), changes);
        }
        Ok(())
    }
}

/// The work of a transaction, whatever its result type.
trait Work: Sync {
    fn work<'a>(&'a self, tx: &'a Tx<'a>) -> Boxed<'a, ()>;

    /// The number of changes.
    fn changes(&self) -> usize;
}

/// The work with its argument, and the result of the last attempt.
struct Job<'e, E: ?Sized, N, W, T> {
    with: &'e E,
    changes: N,
    work: W,
    done: Mutex<Option<T>>,
}

impl<E: Sync + ?Sized, N, W, T: Send> Work for Job<'_, E, N, W, T>
where
    N: Fn(&E) -> usize + Sync,
    W: for<'a> Fn(&'a E, &'a Tx<'a>) -> Boxed<'a, T> + Sync,
{
    fn work<'a>(&'a self, tx: &'a Tx<'a>) -> Boxed<'a, ()> {
        let work = (self.work)(self.with, tx);
        Box::pin(async move {
            let done = work.await?;
            *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            Ok(())
        })
    }

    fn changes(&self) -> usize {
        (self.changes)(self.with)
    }
}

async fn commit(tx: Tx<'_>) -> Done<()> {
    tx.commit().await.map_err(|error| match Failure::from(error) {
        // The server may have committed before its answer was lost.
        Failure::Store(StoreError::Unavailable(text)) => Failure::InDoubt(text),
        failure => failure,
    })
}
