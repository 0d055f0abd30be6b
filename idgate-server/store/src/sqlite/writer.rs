//! The single writing thread. It takes the queued jobs, runs them in one transaction, commits once
//! and only then answers, so that a group waits for the disk once. If a job in a group fails, the
//! transaction is rolled back and the group runs again with a savepoint around each job, so that
//! the others do not fail with it.
//!
//! ```text
//! queue ──> up to 64 jobs ──> claims.db commits ──> idgate.db commits ──> answers
//!                             (only if a job touched it)
//! ```
//! A crash between the two commits leaves a result without a VERIFIED session; opening the store
//! removes it. For the same reason the result of a deleted session is removed after its session,
//! and the key of a settled one after its settlement. The log of each file is truncated after an
//! erasure, once per group.

mod batch;
mod erasure;
mod job;

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

pub(crate) use self::batch::Batch;
use self::batch::{Deleted, Erasing};
use self::job::{Job, RunOne, Task, Waiting, apart, run, together};
use crate::db::{Db, at_once};
use crate::env::Env;
use crate::key_check::FirstKey;
use crate::lanes::{LaneKey, Lanes, NoRoom, Room};
use crate::metrics::{Measured, gains, hours};
use crate::sqlite::audit;
use crate::sqlite::claims;
use crate::sqlite::directory;
use crate::sqlite::disk::Disk;
use crate::types::{StoreError, Write};
use idgate_base::clock::Stopwatch;
use idgate_base::spans::{Key, Kind, Metered, Span, Stage, Value};
use idgate_base::telemetry::Use;

/// How many jobs may wait. A client has at most a quarter of the queue.
const QUEUE: Room = Room { per_lane: 256, in_all: 1024 };
/// Jobs in one transaction.
const GROUP: usize = 64;
/// With this many queued jobs, the transaction waits for more, which then share its page writes and
/// its wait for the disk. Jobs that arrive during that wait do not count, otherwise it would never
/// end.
const MANY: usize = 4;
/// How long it waits.
const GATHERING: Duration = Duration::from_millis(3);
/// How soon an erasure that a reader held up is retried. The delay grows to half a second, so that
/// others can write between attempts.
const ERASE_AGAIN: Duration = Duration::from_millis(20);
const ERASE_AGAIN_AT_MOST: Duration = Duration::from_millis(500);
/// How often a full disk is checked.
const RECOVER_US: u64 = 500_000;
/// How long the store counts as writable after a write.
const WRITABLE_US: u64 = 1_000_000;
/// How often erasing is tried when the store closes.
const LAST_TRIES: u32 = 50;

/// The handle of the writing thread. When it is dropped, the queued jobs still finish.
pub(crate) struct Writer {
    queue: Arc<Lanes<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    disk: Arc<Disk>,
    env: Arc<Env>,
    written: Arc<Mutex<Option<Stopwatch>>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        main: Connection,
        claims: Connection,
        first: FirstKey,
        env: &Arc<Env>,
        disk: Arc<Disk>,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Lanes::new(QUEUE));
        let jobs = LeftBehind(queue.clone());
        let written = Arc::new(Mutex::new(None));
        let mut writing = Writing::new(main, claims, first, env.clone(), disk.clone());
        writing.written = written.clone();
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || writing.run(&jobs.0))
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { queue, thread: Some(thread), disk, env: env.clone(), written })
    }

    /// How many jobs wait, and how many may.
    pub(crate) fn waiting(&self) -> Use {
        self.queue.waiting()
    }

    /// Queues the gateway's own work, like [`Writer::submit_for`].
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Write<'static, T> {
        self.submit_for(LaneKey::GATEWAY, work)
    }

    /// Queues `work` immediately, whether or not the answer is awaited. If it fails, all its
    /// changes are undone. It may run twice, if the first run was undone. On a full disk it is
    /// rejected.
    pub(crate) fn submit_for<T: Send + 'static>(
        &self,
        whose: LaneKey,
        work: impl FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Write<'static, T> {
        if self.disk.is_full() {
            return Box::pin(async { Err(StoreError::Full) });
        }
        self.env.fault.write(whose, || self.queue(whose, work, false))
    }

    /// The same for work that erases, which also runs on a full disk.
    pub(crate) fn submit_erasing<T: Send + 'static>(
        &self,
        whose: LaneKey,
        work: impl FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Write<'static, T> {
        self.env.fault.write(whose, || self.queue(whose, work, true))
    }

    /// Whether something was stored a moment ago.
    pub(crate) fn has_just_written(&self) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        !self.disk.is_full() && written.is_some_and(|at| at.elapsed_us() < WRITABLE_US)
    }

    fn queue<T: Send + 'static>(
        &self,
        whose: LaneKey,
        mut work: impl FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send + 'static,
        erases: bool,
    ) -> Write<'static, T> {
        let metered = Metered::of(Stage::Write);
        let work = move |batch: &mut Batch<'_>| metered.run(|| work(batch));
        let mut span = Span::begin("commit", Kind::Client);
        span.set(Key::Database, || Some(Value::Word("sqlite")));
        let (reply, answer) = oneshot::channel();
        let job = Task::new(work, erases, reply);
        let queued = self.queue.push(whose, Box::new(job));
        Box::pin(async move {
            // The span lasts until the answer.
            let _span = span;
            match queued {
                Ok(()) => answer.await.unwrap_or_else(|_| Err(stopped())),
                Err(NoRoom::Full) => Err(StoreError::Busy),
                Err(NoRoom::Closed) => Err(stopped()),
            }
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The queue as the writing thread holds it. However the thread ends, no caller waits for an answer
/// after that.
struct LeftBehind(Arc<Lanes<Box<dyn Job>>>);

impl Drop for LeftBehind {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn stopped() -> StoreError {
    StoreError::Failed("the writer has stopped".into())
}

/// The writing thread's side.
struct Writing {
    main: Connection,
    claims: Connection,
    env: Arc<Env>,
    first: FirstKey,
    /// Deleted sessions whose results and keys are not erased yet.
    orphaned: Vec<Deleted>,
    /// Settled sessions whose keys are not erased yet.
    spent: Vec<String>,
    erase_spent: bool,
    erasing: Erasing,
    /// Jobs to answer after the next attempt to erase.
    waiting: Vec<Box<dyn Job>>,
    /// Since when an erasure is held up, and whether the log says so.
    held_up: Option<Stopwatch>,
    told: bool,
    written: Arc<Mutex<Option<Stopwatch>>>,
    disk: Arc<Disk>,
    recovered: Stopwatch,
}

impl Writing {
    fn new(
        main: Connection,
        claims: Connection,
        first: FirstKey,
        env: Arc<Env>,
        disk: Arc<Disk>,
    ) -> Self {
        Self {
            main,
            claims,
            env,
            first,
            orphaned: Vec::new(),
            spent: Vec::new(),
            erase_spent: false,
            erasing: Erasing::default(),
            waiting: Vec::new(),
            held_up: None,
            told: false,
            written: Arc::default(),
            disk,
            recovered: Stopwatch::new(),
        }
    }

    fn run(&mut self, jobs: &Lanes<Box<dyn Job>>) {
        loop {
            match self.next(jobs) {
                Ok(first) => {
                    if let Err(locked_out) = self.run_group(gather(first, jobs)) {
                        // The queued jobs have waited as well: otherwise each group would wait once
                        // more.
                        for job in jobs.try_iter().take(QUEUE.in_all) {
                            job.answer(Err(locked_out.clone()));
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.erase();
            if self.disk.is_full() && self.recovered.elapsed_us() > RECOVER_US {
                self.disk.recover();
                self.recovered = Stopwatch::new();
            }
        }
        // A start or a copy of the directory that follows finds everything in the two files.
        self.erase_spent = true;
        self.erasing = Erasing { claims: true, main: true };
        for _ in 0..LAST_TRIES {
            if !self.is_erasing() {
                break;
            }
            std::thread::sleep(ERASE_AGAIN);
            self.erase();
        }
    }

    fn next(&self, jobs: &Lanes<Box<dyn Job>>) -> Result<Box<dyn Job>, RecvTimeoutError> {
        if self.is_erasing() {
            let since = self.held_up.map_or(0, |since| since.elapsed_us());
            let pause = Duration::from_micros(since / 4);
            jobs.recv_timeout(pause.clamp(ERASE_AGAIN, ERASE_AGAIN_AT_MOST))
        } else {
            jobs.recv().ok_or(RecvTimeoutError::Disconnected)
        }
    }

    /// Runs a group and answers it.
    ///
    /// # Errors
    /// No transaction could begin, because another program held the database all the time. Other
    /// errors of one group need not affect the next.
    fn run_group(&mut self, group: Vec<Box<dyn Job>>) -> Result<(), StoreError> {
        let Some(group) = self.try_group(group)? else { return Ok(()) };
        // The disk is full: erasing continues, in the reserved space.
        let (erasing, others): (Vec<_>, Vec<_>) = group.into_iter().partition(|job| job.erases());
        for job in others {
            job.answer(Err(StoreError::Full));
        }
        if erasing.is_empty() {
            return Ok(());
        }
        for job in self.try_group(erasing)?.into_iter().flatten() {
            job.answer(Err(StoreError::Full));
        }
        Ok(())
    }

    /// Runs the group and answers it. Returns the group if there was no room for it.
    fn try_group(&mut self, mut group: Vec<Box<dyn Job>>) -> Result<GivenBack, StoreError> {
        // Nothing of an earlier group may be left, or this group would become part of it.
        self.roll_back();
        let begun = self.main.execute_batch("BEGIN IMMEDIATE");
        let locked_out = begun.as_ref().is_err_and(is_locked);
        let begun = begun.map_err(StoreError::from);
        self.disk.note(&begun);
        match begun {
            Ok(()) => {}
            Err(StoreError::Full) => return Ok(Some(group)),
            Err(error) => {
                group.into_iter().for_each(|job| job.answer(Err(error.clone())));
                return if locked_out { Err(error) } else { Ok(None) };
            }
        }
        let mut done = self.transact(&mut group, together);
        if let Ok(None) = done {
            // Changes that were rolled back may have reached the log already.
            self.erasing.claims = true;
            done = self
                .main
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(StoreError::from)
                .and_then(|()| self.transact(&mut group, apart));
        }
        self.disk.note(&done);
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
                if matches!(error, StoreError::Full) {
                    return Ok(Some(group));
                }
                for job in group {
                    job.answer(Err(error.clone()));
                }
            }
        }
        Ok(None)
    }

    /// Runs the group in the transaction that has begun. Without `Done`, nothing is stored.
    fn transact(
        &self,
        group: &mut [Box<dyn Job>],
        run_one: RunOne,
    ) -> Result<Option<Done>, StoreError> {
        let mut batch = Batch {
            main: &self.main,
            chains: audit::Chains::new(&self.main, &self.env.audit),
            claims: &self.claims,
            claims_open: false,
            erase: self.erasing,
            orphaned: Vec::new(),
            spent: Vec::new(),
            erase_spent: false,
            answer_after_erasure: false,
            rings: false,
            measured: Vec::new(),
        };
        let (jobs, before) = (group.len(), self.changes());
        let ran = run(group, &mut batch, run_one);
        let Batch { claims_open, erase, orphaned, spent, erase_spent, rings, measured, .. } = batch;
        let committed = ran.and_then(|ran| {
            let Some(after_erasure) = ran else { return Ok(None) };
            record(&self.main, &measured)?;
            let due = self.first.due();
            if let Some(check) = due {
                directory::note(&self.main, check)?;
            }
            let watch = Stopwatch::new();
            if claims_open {
                self.claims.execute_batch("COMMIT")?;
            }
            self.main.execute_batch("COMMIT")?;
            if due.is_some() {
                self.first.is_noted();
            }
            // A group that only read did not wait for the disk.
            if self.changes() != before {
                self.env.telemetry.commit(watch.elapsed_us(), jobs);
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                *written = Some(Stopwatch::new());
            }
            Ok(Some(Done { after_erasure, erase, orphaned, spent, erase_spent }))
        });
        match &committed {
            Ok(Some(_)) => {
                measured.iter().for_each(|measured| self.count(measured));
                if rings {
                    self.env.outbox_bell.notify_one();
                }
            }
            Ok(None) => self.roll_back(),
            Err(_) => self.abandon(claims_open),
        }
        committed
    }

    fn count(&self, measured: &Measured) {
        let Measured { status, format, livemode, error_code, processing_us, .. } = measured;
        self.env.telemetry.session(status.as_str(), format, *livemode);
        if let Some(us) = processing_us {
            self.env.telemetry.verification(*us, *error_code);
        }
    }

    /// How many rows were changed since the files were opened.
    fn changes(&self) -> (u64, u64) {
        (self.main.total_changes(), self.claims.total_changes())
    }

    fn roll_back(&self) {
        for conn in [&self.claims, &self.main] {
            if !conn.is_autocommit() {
                let _ = conn.execute_batch("ROLLBACK");
            }
        }
    }

    /// Leaves both files without an open transaction, and without orphaned results.
    fn abandon(&self, claims_touched: bool) {
        self.roll_back();
        if claims_touched {
            let _ = claims::remove_orphans(&self.claims, &self.main);
        }
    }
}

/// Whether another program holds the database.
fn is_locked(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The jobs of the next transaction: the queued ones and, if they are many, those that arrive soon.
fn gather(first: Box<dyn Job>, jobs: &Lanes<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
    let mut group = vec![first];
    let take = |group: &mut Vec<_>| {
        let room = GROUP.saturating_sub(group.len());
        group.extend(jobs.try_iter().take(room));
    };
    take(&mut group);
    if (MANY..GROUP).contains(&group.len()) {
        std::thread::sleep(GATHERING);
        take(&mut group);
    }
    group
}

/// A group for which there was no room.
type GivenBack = Option<Vec<Box<dyn Job>>>;

/// What to do after the commit of a group.
struct Done {
    after_erasure: Waiting,
    erase: Erasing,
    orphaned: Vec<Deleted>,
    spent: Vec<String>,
    erase_spent: bool,
}

/// Adds to the metrics. Damaged metrics do not hold up sessions: reading the metrics reports the
/// error.
fn record(main: &Connection, measured: &[Measured]) -> Result<(), StoreError> {
    if measured.is_empty() {
        return Ok(());
    }
    main.prepare_cached("SAVEPOINT metrics")?.execute([])?;
    let added = at_once(async {
        let (db, gains) = (Db::sqlite(main), gains(measured));
        let sums = hours::take(&db, &gains).await?;
        hours::add(&db, sums, &gains).await
    });
    if let Err(error) = added {
        if matches!(error, StoreError::Full) {
            return Err(error);
        }
        tracing::error!(cause = %error, "sessions are missing in the metrics");
        main.prepare_cached("ROLLBACK TO metrics")?.execute([])?;
    }
    main.prepare_cached("RELEASE metrics")?.execute([])?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
