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

mod batch;
mod job;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

pub(super) use self::batch::Batch;
use self::batch::Erasing;
use self::job::{Job, RunOne, Task, Waiting, apart, run, together};
use super::metrics::{self, Measured};
use super::schema::{BUSY_TIMEOUT, truncate_log};
use super::{StoreError, Write, audit, claims, session_keys};
use crate::audit::AuditKeys;
use crate::clock::Stopwatch;
use crate::telemetry::Telemetry;

/// Jobs that may wait; one more is refused.
const QUEUE: usize = 1024;
/// Jobs in one transaction.
const GROUP: usize = 64;
/// From this many jobs in one transaction on, the next one waits for company: its page writes and its
/// waiting for the disk are shared by more.
const CROWD: usize = 4;
/// After so long without a job the crowd is gone.
const LULL_US: u64 = 20_000;
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
        let job = Task::new(work, reply);
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
            let idle = Stopwatch::new();
            match self.next(jobs) {
                Ok(first) => {
                    let alone = crowd < CROWD || idle.elapsed_us() > LULL_US;
                    let group = gather(first, jobs, alone);
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
        let mut done = self.transact(&mut group, together);
        if let Ok(None) = done {
            // What was undone may have reached the log already.
            self.erasing.claims = true;
            done = self.transact(&mut group, apart);
        }
        match done.and_then(|done| done.ok_or_else(stopped)) {
            Ok(done) => {
                self.erasing = done.erase;
                self.orphaned.extend(done.orphaned);
                self.spent.extend(done.spent);
                self.erase_spent |= done.erase_spent;
                for (job, after_erasure) in group.into_iter().zip(done.after_erasure) {
                    if after_erasure {
                        self.waiting.push(job);
                    } else {
                        job.answer(Ok(()));
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
    fn transact(
        &self,
        group: &mut [Box<dyn Job>],
        run_one: RunOne,
    ) -> Result<Option<Done>, StoreError> {
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
        let ran = run(group, &mut batch, run_one);
        let Batch { claims_open, erase, orphaned, spent, erase_spent, measured, .. } = batch;
        let committed = ran.and_then(|ran| {
            let Some(after_erasure) = ran else { return Ok(None) };
            record(&self.main, &measured)?;
            let watch = Stopwatch::new();
            if claims_open {
                self.claims.execute_batch("COMMIT")?;
            }
            self.main.execute_batch("COMMIT")?;
            self.telemetry.commit(watch.elapsed_us(), jobs);
            Ok(Some(Done { after_erasure, erase, orphaned, spent, erase_spent }))
        });
        match &committed {
            Ok(Some(_)) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                measured.iter().for_each(|measured| self.count(measured));
            }
            Ok(None) => self.roll_back(),
            Err(_) => self.abandon(claims_open),
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

    fn roll_back(&self) {
        for conn in [&self.claims, &self.main] {
            if !conn.is_autocommit() {
                let _ = conn.execute_batch("ROLLBACK");
            }
        }
    }

    /// Leaves both files without an open transaction and without results that belong to nothing.
    fn abandon(&self, claims_touched: bool) {
        self.roll_back();
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

/// The jobs of the next transaction: what is queued and, unless it is `alone`, what comes soon.
fn gather(first: Box<dyn Job>, jobs: &Receiver<Box<dyn Job>>, alone: bool) -> Vec<Box<dyn Job>> {
    let mut group = vec![first];
    let take = |group: &mut Vec<_>| {
        let room = GROUP.saturating_sub(group.len());
        group.extend(jobs.try_iter().take(room));
    };
    take(&mut group);
    if !alone && group.len() < GROUP {
        std::thread::sleep(GATHERING);
        take(&mut group);
    }
    group
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
    after_erasure: Waiting,
    erase: Erasing,
    orphaned: Vec<String>,
    spent: Vec<String>,
    erase_spent: bool,
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
