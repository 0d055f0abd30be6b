//! The one thread that writes. It takes what is queued, runs it in one transaction, commits once and
//! only then answers: the disk is waited for once per group. When a job of a group fails, the
//! transaction is undone and the group runs again with a savepoint around each job, so that the
//! others do not fail with it.
//!
//! ```text
//! queue ──> up to 64 jobs ──> claims.db commits ──> idgate.db commits ──> answers
//!                             (only if a job touched it)
//! ```
//! A crash between the two commits leaves a result without a VERIFIED session; opening the store
//! removes it. For the same reason the result of a deleted session goes after its session, and the
//! key of a settled one after its settlement. The log of each file is cut behind what must leave it,
//! once for a group.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::metrics::{self, Measured};
use super::schema::{BUSY_TIMEOUT, truncate_log};
use super::{StoreError, Write, audit, claims, session_keys};
use crate::audit::{AuditEvent, AuditKeys};
use crate::clock::Stopwatch;
use crate::telemetry::Telemetry;

/// Jobs that may wait; one more is refused.
const QUEUE: usize = 1024;
/// Jobs in one transaction.
const GROUP: usize = 64;
/// From this many jobs in one transaction on, the next one waits for company: its page writes and its
/// waiting for the disk are shared by more.
const CROWD: usize = 4;
/// How long it waits.
const GATHERING: Duration = Duration::from_millis(3);
/// How soon an erasure that a reader held up is tried again.
const ERASE_AGAIN: Duration = Duration::from_millis(20);
/// How long an erasure waits for readers that are about to finish.
const ERASE_WAIT: Duration = Duration::from_millis(10);
/// How often it is tried when the store closes.
const LAST_TRIES: u32 = 50;

/// The handle of the writing thread. Dropping it lets the queue finish.
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

/// What a job works with.
pub(super) struct Batch<'c> {
    /// The main database, inside the transaction.
    pub(super) main: &'c Connection,
    /// The audit log, inside the transaction.
    pub(super) chains: audit::Chains<'c>,
    audit: &'c AuditKeys,
    claims: &'c Connection,
    claims_open: bool,
    /// What may be in a file, although deleted, when the group is done.
    erase: Erasing,
    /// Sessions whose results and keys go once the group is committed.
    orphaned: Vec<String>,
    /// Sessions whose keys are of no use once the group is committed.
    spent: Vec<String>,
    erase_spent: bool,
    answer_after_erasure: bool,
    /// Sessions that this group made or settled.
    measured: Vec<Measured>,
}

impl<'c> Batch<'c> {
    /// The results, inside a transaction that begins with the first use.
    pub(super) fn claims(&mut self) -> Result<&'c Connection, StoreError> {
        if !self.claims_open {
            self.claims.execute_batch("BEGIN IMMEDIATE")?;
            self.claims_open = true;
        }
        Ok(self.claims)
    }

    /// The keys of the audit log.
    pub(super) fn audit_keys(&self) -> &'c AuditKeys {
        self.audit
    }

    /// Records what this job changes, in the chain of `client_id`.
    pub(super) fn audit(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
        self.chains.append(client_id, event)
    }

    /// Counts a session that this job makes or settles.
    pub(super) fn measure(&mut self, measured: Option<Measured>) {
        self.measured.extend(measured);
    }

    /// Asks that deleted results leave every file soon.
    pub(super) fn erase_soon(&mut self) {
        self.erase.claims = true;
    }

    /// Notes that the key of a session that this job settles must go with the next
    /// [`Batch::erase_spent_keys`].
    pub(super) fn spend_key(&mut self, session_id: &str) {
        self.spent.push(session_id.to_owned());
    }

    /// Asks that the keys of settled sessions leave every file soon. Not with each settlement: the
    /// log would be cut all the time.
    pub(super) fn erase_spent_keys(&mut self) {
        self.erase_spent = true;
    }

    /// Asks that a session that this job deletes leaves every file, with its result, and that the
    /// job is answered only then.
    pub(super) fn erase_session(&mut self, session_id: &str) {
        self.erase.main = true;
        self.orphaned.push(session_id.to_owned());
        self.answer_after_erasure = true;
    }
}

/// The files that may still hold something deleted.
#[derive(Clone, Copy, Default)]
struct Erasing {
    claims: bool,
    main: bool,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        main: Connection,
        claims: Connection,
        audit: AuditKeys,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = sync_channel(QUEUE);
        let commits = Arc::new(AtomicU64::new(0));
        let waiting = Vec::new();
        let mut desk = Desk {
            main,
            claims,
            audit,
            orphaned: Vec::new(),
            spent: Vec::new(),
            erase_spent: false,
            erasing: Erasing::default(),
            waiting,
            commits: commits.clone(),
            telemetry,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || desk.run(&jobs))
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), commits })
    }

    /// Queues `work` at once, whether or not the answer is awaited. When it fails, nothing of it
    /// stays. It may run twice, when nothing of the first time stayed.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Write<'static, T> {
        let (reply, answer) = oneshot::channel();
        let job = Task { work, result: None, reply };
        let queued = match &self.queue {
            Some(queue) => queue.try_send(Box::new(job)),
            None => return Box::pin(async { Err(stopped()) }),
        };
        Box::pin(async move {
            match queued {
                Ok(()) => answer.await.unwrap_or_else(|_| Err(stopped())),
                Err(TrySendError::Full(_)) => Err(StoreError::Busy),
                Err(TrySendError::Disconnected(_)) => Err(stopped()),
            }
        })
    }

    /// How many transactions of the main database were committed.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Failed("the writer has stopped".into())
}

/// A unit of work and the one who waits for it.
trait Job: Send {
    /// Does the work; `false`: undo it.
    fn work(&mut self, batch: &mut Batch<'_>) -> bool;
    /// Answers, once the outcome of the transaction is known.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Task<T, F> {
    work: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send,
{
    fn work(&mut self, batch: &mut Batch<'_>) -> bool {
        let result = (self.work)(batch);
        let done = result.is_ok();
        self.result = Some(result);
        done
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match outcome {
            Ok(()) => self.result.unwrap_or_else(|| Err(stopped())),
            Err(error) => Err(error),
        };
        // Who no longer waits does not need to know.
        let _ = self.reply.send(result);
    }
}

/// The writing thread's side.
struct Desk {
    main: Connection,
    claims: Connection,
    audit: AuditKeys,
    /// Deleted sessions whose results and keys are still there.
    orphaned: Vec<String>,
    /// Settled sessions whose keys are still there.
    spent: Vec<String>,
    erase_spent: bool,
    erasing: Erasing,
    /// Jobs that are answered when they are not.
    waiting: Vec<Box<dyn Job>>,
    commits: Arc<AtomicU64>,
    telemetry: Arc<Telemetry>,
}

impl Desk {
    fn run(&mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut crowd = 0;
        loop {
            match self.next(jobs) {
                Ok(first) => {
                    if crowd >= CROWD {
                        std::thread::sleep(GATHERING);
                    }
                    let rest = std::iter::from_fn(|| jobs.try_recv().ok()).take(GROUP - 1);
                    let group: Vec<_> = std::iter::once(first).chain(rest).collect();
                    crowd = group.len();
                    self.run_group(group);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.erase();
        }
        self.erase_spent = true;
        for _ in 0..LAST_TRIES {
            if !self.is_erasing() {
                break;
            }
            std::thread::sleep(ERASE_AGAIN);
            self.erase();
        }
    }

    fn next(&self, jobs: &Receiver<Box<dyn Job>>) -> Result<Box<dyn Job>, RecvTimeoutError> {
        if self.is_erasing() {
            jobs.recv_timeout(ERASE_AGAIN)
        } else {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        }
    }

    fn run_group(&mut self, mut group: Vec<Box<dyn Job>>) {
        let done = match self.transact(&mut group, run_all) {
            Ok(None) => self.transact(&mut group, run_each),
            done => done,
        };
        match done.and_then(|done| done.ok_or_else(stopped)) {
            Ok(done) => {
                self.erasing = done.erase;
                self.orphaned.extend(done.orphaned);
                self.spent.extend(done.spent);
                self.erase_spent |= done.erase_spent;
                for (job, outcome) in group.into_iter().zip(done.outcomes) {
                    match outcome {
                        Ok(true) => self.waiting.push(job),
                        other => job.answer(other.map(drop)),
                    }
                }
            }
            Err(error) => {
                // A result may have been written and removed again.
                self.erasing.claims = true;
                let text = match error {
                    StoreError::Failed(text) => text,
                    StoreError::Busy => "the database is busy".to_owned(),
                };
                for job in group {
                    job.answer(Err(StoreError::Failed(text.clone())));
                }
            }
        }
    }

    /// Runs the group in one transaction; without `Done`, none of it is stored.
    fn transact(&self, group: &mut [Box<dyn Job>], run: Run) -> Result<Option<Done>, StoreError> {
        self.main.execute_batch("BEGIN IMMEDIATE")?;
        let mut batch = Batch {
            main: &self.main,
            chains: audit::Chains::new(&self.main, &self.audit),
            audit: &self.audit,
            claims: &self.claims,
            claims_open: false,
            erase: self.erasing,
            orphaned: Vec::new(),
            spent: Vec::new(),
            erase_spent: false,
            answer_after_erasure: false,
            measured: Vec::new(),
        };
        let jobs = group.len();
        let outcomes = run(group, &mut batch);
        let Batch { claims_open, erase, orphaned, spent, erase_spent, measured, .. } = batch;
        let committed = outcomes.and_then(|outcomes| {
            let Some(outcomes) = outcomes else { return Ok(None) };
            record(&self.main, &measured)?;
            let watch = Stopwatch::new();
            if claims_open {
                self.claims.execute_batch("COMMIT")?;
            }
            self.main.execute_batch("COMMIT")?;
            self.telemetry.commit(watch.elapsed_us(), jobs);
            Ok(Some(Done { outcomes, erase, orphaned, spent, erase_spent }))
        });
        match &committed {
            Ok(Some(_)) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                measured.iter().for_each(|measured| self.count(measured));
            }
            Ok(None) | Err(_) => self.abandon(claims_open),
        }
        committed
    }

    fn count(&self, measured: &Measured) {
        let Measured { status, format, livemode, error_code, processing_us, .. } = measured;
        self.telemetry.session(status.as_str(), format, *livemode);
        if let Some(us) = processing_us {
            self.telemetry.verification(*us, *error_code);
        }
    }

    /// Leaves both files without an open transaction and without results that belong to nothing.
    fn abandon(&self, claims_touched: bool) {
        for conn in [&self.claims, &self.main] {
            if !conn.is_autocommit() {
                let _ = conn.execute_batch("ROLLBACK");
            }
        }
        if claims_touched {
            let _ = claims::remove_orphans(&self.claims, &self.main);
            let _ = session_keys::remove_orphans(&self.claims, &self.main);
        }
    }

    fn is_erasing(&self) -> bool {
        let due = self.erase_spent && !self.spent.is_empty();
        self.erasing.claims || self.erasing.main || !self.orphaned.is_empty() || due
    }

    /// Removes what belongs to deleted and settled sessions, moves the log into the file and cuts
    /// it; what a reader or an error holds up is tried again. Answers those who waited for it.
    fn erase(&mut self) {
        if self.remove_orphaned().is_err() || self.remove_spent().is_err() {
            return;
        }
        self.erasing.claims = self.erasing.claims && !is_log_cut(&self.claims);
        self.erasing.main = self.erasing.main && !is_log_cut(&self.main);
        if !self.is_erasing() {
            for job in self.waiting.drain(..) {
                job.answer(Ok(()));
            }
        }
    }

    fn remove_orphaned(&mut self) -> Result<(), StoreError> {
        if self.orphaned.is_empty() {
            return Ok(());
        }
        let transaction = self.claims.unchecked_transaction()?;
        let mut removed = session_keys::remove(&transaction, &self.orphaned)? > 0;
        for session_id in &self.orphaned {
            removed |= claims::remove(&transaction, session_id)?;
        }
        transaction.commit()?;
        self.orphaned.clear();
        self.erasing.claims |= removed;
        Ok(())
    }

    fn remove_spent(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.erase_spent) || self.spent.is_empty() {
            return Ok(());
        }
        let transaction = self.claims.unchecked_transaction()?;
        let removed = session_keys::remove(&transaction, &self.spent);
        let done = removed.and_then(|removed| Ok((removed, transaction.commit()?)));
        // An error leaves it for the next turn.
        self.erase_spent = done.is_err();
        self.erasing.claims |= done?.0 > 0;
        self.spent.clear();
        Ok(())
    }
}

/// Cuts the log of a file, if its readers allow it.
fn is_log_cut(conn: &Connection) -> bool {
    let _ = conn.busy_timeout(ERASE_WAIT);
    let cut = truncate_log(conn).unwrap_or(false);
    let _ = conn.busy_timeout(BUSY_TIMEOUT);
    cut
}

/// What a committed group asks for.
struct Done {
    outcomes: Outcomes,
    erase: Erasing,
    orphaned: Vec<String>,
    spent: Vec<String>,
    erase_spent: bool,
}

/// What each job of a group came to: whether its answer must wait for the erasure, or why it is
/// undone whatever it says itself.
type Outcomes = Vec<Result<bool, StoreError>>;
/// How the jobs of a group are run.
type Run = fn(&mut [Box<dyn Job>], &mut Batch<'_>) -> Result<Option<Outcomes>, StoreError>;

/// Runs the jobs one after the other; `None`: one failed, and all must be undone.
fn run_all(
    group: &mut [Box<dyn Job>],
    batch: &mut Batch<'_>,
) -> Result<Option<Outcomes>, StoreError> {
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        batch.answer_after_erasure = false;
        if !job.work(batch) {
            return Ok(None);
        }
        outcomes.push(Ok(batch.answer_after_erasure));
    }
    Ok(batch.chains.write().is_ok().then_some(outcomes))
}

/// Runs each job in a savepoint, so that only those that fail are undone.
fn run_each(
    group: &mut [Box<dyn Job>],
    batch: &mut Batch<'_>,
) -> Result<Option<Outcomes>, StoreError> {
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        batch.answer_after_erasure = false;
        batch.main.prepare_cached("SAVEPOINT job")?.execute([])?;
        let measured = batch.measured.len();
        let (worked, written) = (job.work(batch), batch.chains.write());
        if !worked || written.is_err() {
            batch.measured.truncate(measured);
            batch.chains.forget();
            batch.main.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
        batch.main.prepare_cached("RELEASE job")?.execute([])?;
        outcomes.push(written.map(|()| batch.answer_after_erasure));
    }
    Ok(Some(outcomes))
}

/// Adds to the sums for operators. When those are out of order, sessions are not held up by it:
/// whoever reads the sums learns of it.
fn record(main: &Connection, measured: &[Measured]) -> Result<(), StoreError> {
    if measured.is_empty() {
        return Ok(());
    }
    main.prepare_cached("SAVEPOINT metrics")?.execute([])?;
    if let Err(error) = metrics::record(main, measured) {
        tracing::error!(cause = %error, "sessions are missing in the metrics");
        main.prepare_cached("ROLLBACK TO metrics")?.execute([])?;
    }
    main.prepare_cached("RELEASE metrics")?.execute([])?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
