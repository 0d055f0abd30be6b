//! A gateway's store: opened, asked and closed.

use std::future::Future;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use idgate_core::ids::{SessionId, TenantId};
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::cursor::List;
use super::super::db::Db;
use super::super::fault::Fault;
use super::super::interface::{
    Caller, FetchedList, InForce, ListSource, PageError, Read, Refreshed, SessionFound,
    SessionRate, Store, StoreError, Write,
};
use super::super::key_check::FirstKey;
use super::super::keys;
use super::super::lanes::Whose;
use super::super::trust::listed_rows;
use super::super::uses::Uses;
use super::claims::ClaimsClock;
use super::error::{Done, Failure, panicked};
use super::order::Place;
use super::pool::{ANSWER, Boxed, Pool};
use super::shared::Shared;
use super::threads::Threads;
use super::{
    api_keys, audit, claims, current, held, instance, leases, list_refresh, listen, nodes, probe,
    rates, schema, turns,
};
use crate::audit::{AuditKeys, SYSTEM};
use crate::clock::{Clock, Moment, SystemClock};
use crate::config::{Address, Environment, Quotas};
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::seal::{InstanceKey, Sealer};
use crate::spans::{Key, Kind, Span, Value};
use crate::telemetry::Telemetry;

/// Connections that requests never have.
const ASIDE: usize = 2;

/// A write with the span of it, where there is one.
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

/// How a gateway opens its store.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions<'a> {
    /// Where the database is.
    pub address: &'a Address,
    /// The same on all nodes; the database never has it.
    pub instance_key: &'a InstanceKey,
    /// Pinned signers serve live sessions in development only.
    pub environment: Environment,
    /// What a client may have at a time.
    pub quotas: Quotas,
    /// Whether an older schema is brought up to date.
    pub migrates: bool,
}

/// The store of one gateway, which may be one of several.
pub struct PostgresStore {
    pub(super) shared: Arc<Shared>,
    pub(in crate::store) fault: Fault,
    /// Dropped last.
    pub(super) threads: Threads,
}

impl PostgresStore {
    /// Connects to a database that may be in use by other nodes. Results that are due are gone before
    /// anything can be read.
    ///
    /// # Errors
    /// It cannot be reached or used, its schema is another one, or the key is not its key; the text
    /// says what to do.
    pub fn open(options: PostgresOptions<'_>, now: UnixMillis) -> Result<Self, StoreError> {
        Self::open_with(options, ClaimsClock::Databases, Arc::new(SystemClock), now)
    }

    /// The same where a test moves the clock that says when results are due.
    #[cfg(test)]
    pub(in crate::store) fn open_at(
        options: PostgresOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        Self::open_with(options, ClaimsClock::Callers, Arc::new(SystemClock), now)
    }

    /// The same where the test also says when what is waited for takes too long.
    #[cfg(test)]
    pub(in crate::store) fn open_waiting_by(
        clock: Arc<dyn Clock>,
        options: PostgresOptions<'_>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        Self::open_with(options, ClaimsClock::Callers, clock, now)
    }

    fn open_with(
        options: PostgresOptions<'_>,
        claims_clock: ClaimsClock,
        clock: Arc<dyn Clock>,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = Threads::start(cores)?;
        let telemetry = Telemetry::new().map(Arc::new);
        let telemetry = telemetry.map_err(|error| StoreError::Failed(error.to_string()))?;
        let (news, to_tell) = listen::News::new();
        let size = (4 * cores).clamp(8, 32);
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            pool: Pool::new(options.address, size)?.counted(telemetry.clone()),
            aside: Pool::new(options.address, ASIDE)?,
            turns: turns::Turns::of(size, clock.clone()),
            groups: Arc::default(),
            deletions: Arc::default(),
            sealer: Arc::new(Sealer::new(options.instance_key)?),
            audit: AuditKeys::new(options.instance_key)?,
            node: nodes::name()?,
            live: nodes::Live::default(),
            pinned_live: options.environment == Environment::Development,
            quotas: options.quotas,
            telemetry,
            changes: Arc::default(),
            outbox_bell: Arc::default(),
            uses: Uses::default(),
            held: held::All::default(),
            probe: probe::Latest::default(),
            news,
            claims_clock,
            claims_looked: claims::Looked::default(),
        });
        let (opened, migrates) = (shared.clone(), options.migrates);
        threads.wait(async move { Ok(opened.begin(migrates, now).await?) })?;
        threads.spawn(nodes::beat(shared.clone()));
        threads.spawn(listen::run(shared.clone(), options.address.clone(), to_tell));
        Ok(Self { shared, fault: Fault::default(), threads })
    }

    /// Reads. When nobody waits for it any more, it is broken off.
    pub(super) fn read<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
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

    /// Reads a page behind the position that `work` is given.
    pub(super) fn page<T: Send + 'static, F>(
        &self,
        list: List,
        client_id: &TenantId,
        asked: (Option<&str>, UnixMillis),
        work: impl FnOnce(Arc<Shared>, i64) -> F + Send + 'static,
    ) -> Read<'_, (Vec<T>, Option<String>), PageError>
    where
        F: Future<Output = Done<(Vec<T>, Option<i64>)>> + Send + 'static,
    {
        let read = move |before| self.read(move |shared| work(shared, before));
        list.page(&self.shared.sealer, client_id.as_str(), asked, read)
    }

    /// Writes, whether or not anybody waits for it.
    pub(super) fn write<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
        &self,
        whose: Whose,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Write<'static, T> {
        self.write_at(None, whose, work)
    }

    /// The same when those before it in a row have written.
    pub(super) fn write_at<T: Send + 'static, F: Future<Output = Done<T>> + Send + 'static>(
        &self,
        place: Option<Place>,
        whose: Whose,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Write<'static, T> {
        self.fault.write(whose, || {
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

    /// What is asked is of a hundred kinds: each is boxed, so that it is one kind of task.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Done<T>> + Send + 'static,
    ) -> Asked<T> {
        let (reply, answer) = oneshot::channel();
        let in_time = in_time(self.shared.clock.clone(), Box::pin(work), reply);
        Asked { task: self.threads.spawn(in_time), answer }
    }
}

/// Answers with what comes of it, or that nothing did in time. Who no longer waits does not need to know.
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

/// What is under way on the threads of the store, and what comes of it; nothing, if it panics.
struct Asked<T> {
    task: JoinHandle<()>,
    answer: oneshot::Receiver<Result<T, StoreError>>,
}

/// Brings the schema of a database up to date; says from which number to which.
///
/// # Errors
/// It cannot be reached, or its schema is newer than this program can work with.
pub fn migrate(address: &Address) -> Result<(i64, i64), StoreError> {
    migrate_at(&Threads::start(1)?, address)
}

pub(in crate::store) fn migrate_at(
    threads: &Threads,
    address: &Address,
) -> Result<(i64, i64), StoreError> {
    let pool = Pool::of_a_command(address, 1)?;
    threads.wait(async move { Ok(schema::migrate(&pool).await?) })
}

/// A read that ends with whoever waits for it.
struct Reading(JoinHandle<()>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Shared {
    /// What comes before the first request.
    async fn begin(&self, migrates: bool, now: UnixMillis) -> Done<()> {
        schema::prepare(&self.pool, migrates).await?;
        let first = instance::check_key(&self.pool, &self.sealer).await?;
        let first = Arc::new(FirstKey::new(first, &self.sealer, &self.audit));
        [&self.pool, &self.aside].iter().for_each(|pool| pool.note(&first));
        claims::erase_due(self, now).await?;
        audit::begin(&self.pool, &self.audit).await?;
        held::begin(self, now).await?;
        if let Some(check) = nodes::join(self, now).await? {
            first.is_missing(check);
        }
        Ok(())
    }

    /// What comes after the last one.
    async fn end(&self) -> Done<()> {
        api_keys::store_uses(self, self.uses.unstored()).await?;
        leases::leave(self).await?;
        nodes::leave(self).await
    }
}

/// What is known about the use of keys is stored, and the other nodes know that this one is gone.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        let ended = self.threads.wait(async move {
            let ended = tokio::time::timeout(Duration::from_secs(2), shared.end()).await;
            ended.map_or(Ok(()), |ended| Ok(ended?))
        });
        if let Err(error) = ended {
            tracing::warn!(cause = %error, "the database was left without a word");
        }
    }
}

impl Store for PostgresStore {
    fn authenticate(&self, digest: &[u8; 32], now: UnixMillis) -> Read<'_, Option<Caller>> {
        let digest = *digest;
        self.read(move |shared| async move { api_keys::authenticate(&shared, &digest, now).await })
    }

    fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (digest, session) = (*digest, session.as_str().to_owned());
        let found = self.read(move |shared| async move {
            api_keys::authenticate_for(&shared, &digest, &session, now).await
        });
        Box::pin(async move {
            let Some((caller, session)) = found.await? else { return Ok(None) };
            let session = self.fault.read(Box::pin(async { session })).await;
            Ok(Some((caller, session)))
        })
    }

    fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        let digest = *digest;
        self.read(move |shared| async move {
            keys::admin(&Db::Client(&shared.pool.client().await?), &digest).await
        })
    }

    fn origins(&self, client_id: &TenantId) -> Read<'_, Vec<String>> {
        let client_id = client_id.clone();
        self.read(move |shared| async move {
            keys::origins(&Db::Client(&shared.pool.client().await?), client_id.as_str()).await
        })
    }

    fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        current::in_force(self, since)
    }

    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        current::trust(self)
    }

    fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        current::gateway_keys(self)
    }

    fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        current::certificates(self)
    }

    fn list_sources(&self) -> Read<'_, Vec<ListSource>> {
        self.read(move |shared| async move {
            listed_rows::sources(&Db::Client(&shared.pool.client().await?)).await
        })
    }

    fn refresh_list(&self, fetched: FetchedList, now: UnixMillis) -> Write<'_, Refreshed> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let env = (&shared.audit, &fetched, (SYSTEM, now));
            let refresh = shared.pool.transact(&env, |&(keys, fetched, by), tx| {
                Box::pin(list_refresh::refresh_and_record(tx, keys, fetched, by))
            });
            refresh.await
        })
    }

    fn note_list_failure(&self, url: String, why: String, now: UnixMillis) -> Write<'_, ()> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let env = (&*url, &*why, now);
            let note = shared.pool.transact(&env, |&(url, why, now), tx| {
                Box::pin(async move {
                    listed_rows::note(&Db::Transaction(tx), url, Some(why), now).await
                })
            });
            note.await
        })
    }

    fn leads(&self, duty: &'static str, lasting: Duration) -> Read<'_, bool> {
        self.read(move |shared| async move { leases::hold(&shared, duty, lasting).await })
    }

    fn forget_certificates(&self, now: UnixMillis) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            held::forget_certificates(&shared, now).await
        })
    }

    fn erase_signers(&self, now: UnixMillis) -> Write<'_, usize> {
        self.write(
            Whose::GATEWAY,
            move |shared| async move { held::erase_signers(&shared, now).await },
        )
    }

    fn nodes(&self) -> u64 {
        self.shared.live.count()
    }

    fn joined(&self) -> UnixMillis {
        self.shared.live.joined()
    }

    fn charge_session(&self, id: &SessionId, rate: SessionRate) -> Write<'_, Option<u64>> {
        if self.nodes() == 1 {
            return Box::pin(async { Ok(None) });
        }
        let (whose, id) = (Whose::of(id.as_str()), id.as_str().to_owned());
        self.write(whose, move |shared| async move { rates::charge(&shared, &id, rate).await })
    }

    fn next_start(&self) -> Read<'_, Option<String>> {
        self.read(|shared| async move {
            match instance::require_key(&shared.pool, &shared.sealer).await {
                Err(Failure::Store(StoreError::Failed(why))) => Ok(Some(why)),
                found => found.map(|_| None),
            }
        })
    }

    fn probe(&self) -> Write<'_, ()> {
        self.write(Whose::GATEWAY, |shared| async move { probe::ask(&shared).await })
    }
}
