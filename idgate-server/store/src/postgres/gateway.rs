//! Opens, runs and closes a gateway's store on PostgreSQL.

use std::future::Future;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use idgate_core::{SessionId, TenantId, UnixMillis};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::error::{Done, Failure, panicked};
use super::order::Place;
use super::pool::{ANSWER, Pool, moment};
use super::shared::Shared;
use super::threads::Threads;
use super::{audit, claims, instance, leases, listen, nodes, probe, rates, schema, turns};
use crate::address::Address;
use crate::audit_chain::AuditEvent;
use crate::authentication::store_uses;
use crate::cache::Extent;
use crate::db::Db;
use crate::env::{Env, LeaseClock, UseCase};
use crate::environment::Environment;
use crate::failure::Boxed;
use crate::gateway_keys;
use crate::instance_keys::require_key;
use crate::key_check::FirstKey;
use crate::lanes::LaneKey;
use crate::quotas::Quotas;
use crate::seal::InstanceKey;
use crate::shared_reads::{SharedReads, tell};
use crate::types::{Read, SessionRate, StoreError, Write};
use idgate_base::clock::{Clock, SystemClock};
use idgate_base::spans::{Key, Kind, Span, Value};

/// How long a shared read may take.
const SHARED_ANSWER: Duration = Duration::from_secs(10);

/// Connections reserved for work other than requests.
const ASIDE: usize = 2;

/// A write with its tracing span, if there is one.
pub(super) fn committing<T>(
    write: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Write<'static, T> {
    let mut span = Span::begin("commit", Kind::Client);
    span.set(Key::Database, || Some(Value::Word("postgresql")));
    Box::pin(async move {
        let written = write.await;
        drop(span);
        written
    })
}

/// Options of a gateway's store.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions<'a> {
    /// The database.
    pub address: &'a Address,
    /// The same on all nodes. The database never has it.
    pub instance_key: &'a InstanceKey,
    /// Pinned signers serve live sessions in development only.
    pub environment: Environment,
    /// The limits of a client.
    pub quotas: Quotas,
    /// Whether an older schema is migrated.
    pub migrates: bool,
}

/// The store of one gateway, which may be one of several.
pub(crate) struct PostgresStore {
    pub(crate) shared: Arc<Shared>,
    /// Dropped last.
    pub(super) threads: Threads,
}

impl PostgresStore {
    /// Connects to a database that other nodes may be using. Expired results are erased before
    /// anything can be read.
    ///
    /// # Errors
    /// The database cannot be reached or used, its schema has another version, or the key is not
    /// its key. The text says what to do.
    pub(crate) fn open(options: PostgresOptions<'_>, now: UnixMillis) -> Result<Self, StoreError> {
        Self::open_with(options, LeaseClock::Databases, Arc::new(SystemClock), now)
    }

    /// Like `open`, with a clock that a test moves to decide when results are due.
    #[cfg(test)]
    pub(crate) fn open_at(
        options: PostgresOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        Self::open_with(options, LeaseClock::Callers, Arc::new(SystemClock), now)
    }

    /// Like `open_at`, with a clock by which waits time out.
    #[cfg(test)]
    pub(crate) fn open_waiting_by(
        clock: Arc<dyn Clock>,
        options: PostgresOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        Self::open_with(options, LeaseClock::Callers, clock, now)
    }

    fn open_with(
        options: PostgresOptions<'_>,
        lease_clock: LeaseClock,
        clock: Arc<dyn Clock>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = Threads::start(cores)?;
        let leases = (lease_clock, nodes::name()?);
        let env =
            Arc::new(Env::new(options.instance_key, options.environment, options.quotas, leases)?);
        let (news, to_tell) = listen::News::new();
        let size = (4 * cores).clamp(8, 32);
        let shared = Arc::new(Shared {
            env: env.clone(),
            clock: clock.clone(),
            pool: Pool::new(options.address, size)?.counted(env.telemetry.clone()),
            aside: Pool::new(options.address, ASIDE)?,
            turns: turns::Turns::of(size, clock.clone()),
            groups: Arc::default(),
            deletions: Arc::default(),
            live: nodes::Live::default(),
            probe: probe::Latest::default(),
            news,
            claims_looked: claims::Looked::default(),
        });
        let (opened, migrates) = (shared.clone(), options.migrates);
        threads.wait(async move { Ok(opened.begin(migrates, now).await?) })?;
        threads.spawn(nodes::beat(shared.clone()));
        threads.spawn(listen::run(shared.clone(), options.address.clone(), to_tell));
        Ok(Self { shared, threads })
    }

    /// Reads. The read is cancelled when its caller stops waiting.
    pub(super) fn run_read<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Read<'static, T> {
        let Asked { task, answer } = self.spawn(work(self.shared.clone()));
        let reading = Reading(task);
        Box::pin(async move {
            let _reading = reading;
            answer.await.unwrap_or_else(|_| Err(panicked()))
        })
    }

    /// Writes, whether or not the caller still waits.
    pub(super) fn run_write<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
        &self,
        whose: LaneKey,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Write<'static, T> {
        self.run_write_at(None, whose, work)
    }

    /// Like `run_write`, after those that were queued before it.
    pub(super) fn run_write_at<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
        &self,
        place: Option<Place>,
        whose: LaneKey,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Write<'static, T> {
        self.shared.env.fault.write(whose, || {
            let (turns, work) = (self.shared.turns.clone(), work(self.shared.clone()));
            let writing = self.spawn(async move {
                if let Some(place) = &place {
                    place.come().await;
                }
                let _turn = turns.take(whose).await?;
                work.await
            });
            committing(async move { writing.answer.await.unwrap_or_else(|_| Err(panicked())) })
        })
    }

    /// Boxes the work: otherwise each of a hundred use cases would be a task type of its own.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Done<T>> + Send + 'static,
    ) -> Asked<T> {
        let (reply, answer) = oneshot::channel();
        let in_time = in_time(self.shared.clock.clone(), Box::pin(work), reply);
        Asked { task: self.threads.spawn(in_time), answer }
    }
}

/// Sends the outcome, or an error if the time is over. The receiver may be gone.
async fn in_time<T>(
    clock: Arc<dyn Clock>,
    work: Boxed<'static, T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
) {
    let _ = reply.send(match clock.timeout(ANSWER, work).await {
        Ok(done) => done.map_err(StoreError::from),
        Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer".into())),
    });
}

/// Reads once for all callers that wait, and sends each the result.
async fn read_for_all<T: Clone>(
    shared: Arc<Shared>,
    reads: Arc<SharedReads<T>>,
    extent: Extent,
    work: UseCase<(), T>,
) {
    let client = shared.pool.client().await;
    // A request that asks from now on may know of a later change.
    let askers = reads.leave();
    if askers.iter().all(oneshot::Sender::is_closed) {
        return;
    }
    let reading = async {
        let mut client = client?;
        match extent {
            Extent::Row => work(&(), &Db::Client(&client), &shared.env).await,
            Extent::Moment => {
                let moment = moment(&mut client).await?;
                work(&(), &Db::Transaction(&moment), &shared.env).await
            }
        }
    };
    tell(
        askers,
        &match shared.clock.timeout(SHARED_ANSWER, reading).await {
            Ok(outcome) => outcome.map_err(|error: Failure| StoreError::from(error)),
            Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer".into())),
        },
    );
}

/// Creates the signing key, which must exist before the first request.
async fn begin_signing(shared: &Shared, now: UnixMillis) -> Done<()> {
    let with = (&*shared.env.sealer, now);
    let ensure = shared.pool.transact(&with, |&(sealer, now), tx| {
        Box::pin(async move { gateway_keys::ensure(&Db::Transaction(tx), sealer, now).await })
    });
    ensure.await
}

/// Work in progress on the store's threads, and its outcome. If the work panics, there is none.
struct Asked<T> {
    task: JoinHandle<()>,
    answer: oneshot::Receiver<Result<T, StoreError>>,
}

/// Migrates the schema of a database. Returns the old and the new version.
///
/// # Errors
/// The database cannot be reached, or its schema is too new for this program.
pub fn migrate(address: &Address) -> Result<(i64, i64), StoreError> {
    migrate_at(&Threads::start(1)?, address)
}

pub(crate) fn migrate_at(threads: &Threads, address: &Address) -> Result<(i64, i64), StoreError> {
    let pool = Pool::of_a_command(address, 1)?;
    threads.wait(async move { Ok(schema::migrate(&pool).await?) })
}

/// A read that is cancelled when its caller stops waiting.
struct Reading(JoinHandle<()>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Shared {
    /// Runs before the first request.
    async fn begin(&self, migrates: bool, now: UnixMillis) -> Done<()> {
        schema::prepare(&self.pool, migrates).await?;
        let first = instance::check_key(&self.pool, &self.env.sealer).await?;
        let first = Arc::new(FirstKey::new(first, &self.env.sealer, &self.env.audit));
        [&self.pool, &self.aside].iter().for_each(|pool| pool.note(&first));
        claims::erase_due(self, now).await?;
        audit::begin(&self.pool, &self.env.audit).await?;
        begin_signing(self, now).await?;
        if let Some(check) = nodes::join(self, now).await? {
            first.is_missing(check);
        }
        Ok(())
    }

    /// Runs after the last request.
    async fn end(&self) -> Done<()> {
        let unstored = self.env.uses.unstored();
        store_uses(&Db::Client(&self.pool.client().await?), &unstored).await?;
        leases::leave(self).await?;
        nodes::leave(self).await
    }
}

/// Stores the uses of keys, and tells the other nodes that this one is leaving.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        let ended = self.threads.wait(async move {
            let ended = tokio::time::timeout(Duration::from_secs(2), shared.end()).await;
            ended.map_or(Ok(()), |ended| Ok(ended?))
        });
        if let Err(error) = ended {
            tracing::warn!(cause = %error, "the other nodes could not be told that this one stops");
        }
    }
}

/// Runs use cases on the database.
impl PostgresStore {
    pub(crate) fn read<A, T>(&self, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run_read(move |shared| async move {
            let client = shared.pool.client().await?;
            work(&with, &Db::Client(&client), &shared.env).await
        })
    }

    pub(crate) fn look<A, T>(&self, with: A, work: UseCase<A, T>) -> Read<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run_read(move |shared| async move {
            let mut client = shared.pool.client().await?;
            let moment = moment(&mut client).await?;
            work(&with, &Db::Transaction(&moment), &shared.env).await
        })
    }

    pub(crate) fn share<T: Clone + Send + 'static>(
        &self,
        reads: &Arc<SharedReads<T>>,
        extent: Extent,
        work: UseCase<(), T>,
    ) -> Read<'static, T> {
        let (asker, asked) = oneshot::channel();
        if reads.join(asker) {
            drop(self.threads.spawn(read_for_all(
                self.shared.clone(),
                reads.clone(),
                extent,
                work,
            )));
        }
        Box::pin(async move { asked.await.unwrap_or_else(|_| Err(panicked())) })
    }

    pub(crate) fn write<A, T>(
        &self,
        lane: LaneKey,
        with: A,
        work: UseCase<A, T>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run_write(lane, move |shared| async move {
            let client = shared.pool.client().await?;
            work(&with, &Db::Client(&client), &shared.env).await
        })
    }

    pub(crate) fn change<A, T>(
        &self,
        lane: LaneKey,
        with: A,
        work: UseCase<A, T>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run_write(lane, move |shared| async move {
            let with = (&*shared.env, &with, work);
            let change = shared.pool.transact(&with, |&(env, with, work), tx| {
                Box::pin(async move { work(with, &Db::Transaction(tx), env).await })
            });
            change.await
        })
    }

    /// `stored` finds out what became of a COMMIT that was not acknowledged. The head of the chain
    /// is locked before the change reads anything, so all earlier changes are committed.
    pub(crate) fn record<A, T>(
        &self,
        client_id: &TenantId,
        with: A,
        work: UseCase<A, (T, Option<AuditEvent>)>,
        stored: Option<UseCase<A, Option<T>>>,
    ) -> Write<'static, T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let client_id = client_id.clone();
        self.run_write(LaneKey::of(&client_id), move |shared| async move {
            let needs = (&*shared.env, client_id.as_str(), &with, work);
            let recorded = shared.pool.transact(&needs, |&(env, client_id, with, work), tx| {
                Box::pin(async move {
                    audit::hold(tx, &env.audit, client_id).await?;
                    let (done, event) = work(with, &Db::Transaction(tx), env).await?;
                    if let Some(event) = event {
                        audit::append(tx, &env.audit, client_id, event).await?;
                    }
                    Ok(done)
                })
            });
            match (recorded.await, stored) {
                (Err(Failure::InDoubt(why)), Some(stored)) => {
                    let client = shared.pool.client().await?;
                    let found = stored(&with, &Db::Client(&client), &shared.env).await?;
                    found.ok_or(Failure::InDoubt(why))
                }
                (recorded, _) => recorded,
            }
        })
    }
}

/// Leases, rate limits and probes for a gateway that may be one of several.
impl PostgresStore {
    pub(crate) fn leads(&self, duty: &'static str, lasting: Duration) -> Read<'_, bool> {
        self.run_read(move |shared| async move { leases::hold(&shared, duty, lasting).await })
    }

    pub(crate) fn nodes(&self) -> u64 {
        self.shared.live.count()
    }

    pub(crate) fn joined(&self) -> UnixMillis {
        self.shared.live.joined()
    }

    pub(crate) fn charge_session(
        &self,
        id: &SessionId,
        rate: SessionRate,
    ) -> Write<'_, Option<u64>> {
        let (whose, id) = (LaneKey::of(id.as_str()), id.as_str().to_owned());
        self.run_write(whose, move |shared| async move { rates::charge(&shared, &id, rate).await })
    }

    /// Removes rate limits that are full again.
    pub(crate) fn forget_rates(&self) -> Write<'static, ()> {
        self.run_write(LaneKey::GATEWAY, move |shared| async move { rates::forget(&shared).await })
    }

    pub(crate) fn next_start(&self) -> Read<'_, Option<String>> {
        self.run_read(|shared| async move {
            let client = shared.pool.client().await?;
            match require_key(&Db::Client(&client), &shared.env.sealer).await {
                Err(Failure::Store(StoreError::Failed(why))) => Ok(Some(why)),
                found => found.map(|()| None),
            }
        })
    }

    pub(crate) fn probe(&self) -> Write<'_, ()> {
        self.run_write(LaneKey::GATEWAY, |shared| async move { probe::ask(&shared).await })
    }
}
