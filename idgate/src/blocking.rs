//! For embedders without a runtime: fetches run in the background, and callers wait or poll.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idgate_core::{Decision, Need, Session, Step, Transition, UnixMillis, Verification};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::decide::NotDecided;
use crate::egress::Egress;
use crate::fetch::{Fetcher, NotAsked, Outcomes};
use crate::flights::{Allowance, Asked};
use crate::limits::{FETCH_PATIENCE, FETCH_SLACK, FETCH_TIME};
use crate::options::FetchOptions;
use crate::questions::Questions;
use crate::tls::UnusableRoots;

/// A [`Fetcher`] with its own thread, which starts with the first fetch and ends when this is
/// dropped. Threads may share it, and you may use it within your own runtime.
///
/// A forked process starts over: it has neither the thread nor the cache. Fork only while no other
/// thread is in a call: the lock of that call stays locked in the child, which would wait for it
/// forever.
pub struct BlockingFetcher {
    egress: Egress,
    /// The time for the fetches of one answer.
    allowance: Allowance,
    engine: Mutex<Option<Arc<Engine>>>,
}

struct Engine {
    /// The process that has the thread.
    process: u32,
    /// `None`: it has ended.
    runtime: Option<Runtime>,
    fetcher: Arc<Fetcher>,
}

/// The fetches of one round; dropping it cancels them.
pub struct UnderWay {
    outcomes: Receiver<(Outcomes, Allowance)>,
    came: Option<(Outcomes, Allowance)>,
    /// The time after which our own side must be at fault, because sources have had their time.
    overdue: Instant,
    task: AbortHandle,
    engine: Arc<Engine>,
}

impl BlockingFetcher {
    /// Creates a fetcher with an empty cache. It starts nothing yet.
    ///
    /// # Errors
    /// The given roots contain no usable certificate.
    pub fn new(options: FetchOptions) -> Result<Self, UnusableRoots> {
        options.egress().map(Self::over)
    }

    /// Creates a fetcher over an egress that a shell has made.
    pub fn over(egress: Egress) -> Self {
        Self { egress, allowance: Allowance::of_one_answer(), engine: Mutex::default() }
    }

    /// Takes a verification to its decision: commits the hold before the first fetch, and fetches
    /// all needs of a round in parallel. You must commit the decision's own transition. `now` is
    /// called for the time whenever an answer has come.
    ///
    /// # Errors
    /// There is no decision.
    pub fn decide<E>(
        &self,
        verification: &mut Verification<'_>,
        now: impl Fn() -> UnixMillis,
        mut commit: impl FnMut(Transition) -> Result<(), E>,
    ) -> Result<Decision, NotDecided<E>> {
        let mut allowance = self.allowance;
        let mut held: Option<Session> = None;
        loop {
            let (hold, needs) = match verification.step().map_err(NotDecided::Response)? {
                Step::Done(decision) => return Ok(*decision),
                Step::Need { hold, needs } => (hold, needs),
            };
            if self.recall(verification, &needs, now()) {
                continue;
            }
            // The hold of a second round changes nothing.
            if held.is_none() {
                held = Some(hold.session.clone());
                commit(*hold).map_err(NotDecided::Store)?;
            }
            match self.ask(verification, needs, allowance, &now) {
                Ok(left) => allowance = left,
                Err(not_asked) => {
                    if let Some(released) = held.and_then(|held| held.released(now())) {
                        commit(released).map_err(NotDecided::Store)?;
                    }
                    return Err(NotDecided::NotAsked(not_asked));
                }
            }
        }
    }

    fn ask(
        &self,
        verification: &mut Verification<'_>,
        needs: Vec<Need>,
        allowance: Allowance,
        now: &impl Fn() -> UnixMillis,
    ) -> Result<Allowance, NotAsked> {
        let mut under_way = self.begin(Asked::all(verification, needs), allowance)?;
        while !under_way.wait(FETCH_TIME) {}
        under_way.settle(verification, now())
    }

    /// The same as [`Fetcher::recall`].
    pub fn recall(&self, questions: &mut impl Questions, needs: &[Need], now: UnixMillis) -> bool {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let engine = engine.filter(|engine| engine.is_of_this_process());
        let scope = questions.scope();
        engine.is_some_and(|engine| engine.fetcher.recall_for(questions, needs, &scope, now))
    }

    /// Starts to fetch everything in `asked` in parallel, within `allowed`, and does not wait.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn begin(&self, asked: Vec<Asked>, allowed: Allowance) -> Result<UnderWay, NotAsked> {
        let engine = self.engine()?;
        let runtime = engine.runtime.as_ref().ok_or(NotAsked)?;
        let (tell, outcomes) = channel();
        let fetcher = engine.fetcher.clone();
        let fetching = async move {
            let mut left = allowed;
            let outcomes = fetcher.fetch(asked, &mut left).await;
            // The caller may have given up.
            let _ = tell.send((outcomes, left));
        };
        let task = runtime.spawn(fetching).abort_handle();
        let overdue = Instant::now() + FETCH_PATIENCE + FETCH_TIME + FETCH_SLACK;
        Ok(UnderWay { outcomes, came: None, overdue, task, engine })
    }

    fn engine(&self) -> Result<Arc<Engine>, NotAsked> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = engine.as_ref().filter(|engine| engine.is_of_this_process()) {
            return Ok(running.clone());
        }
        // Names are looked up on additional threads, and a look-up never waits for one: there are
        // more threads than permits, and a look-up keeps its permit until it ends.
        let runtime = start(|| {
            let mut runtime = Builder::new_multi_thread();
            runtime.worker_threads(1).thread_name("idgate").enable_io().enable_time().build()
        })?;
        let fetcher = Arc::new(Fetcher::over(self.egress.clone()));
        let started = Engine { process: process::id(), runtime: Some(runtime), fetcher };
        Ok(engine.insert(Arc::new(started)).clone())
    }
}

/// Returns the result of `build`, which may panic: tokio does if the system refuses it a thread.
fn start(build: impl FnOnce() -> io::Result<Runtime>) -> Result<Runtime, NotAsked> {
    let started = catch_unwind(AssertUnwindSafe(build));
    started.ok().and_then(Result::ok).ok_or_else(|| {
        tracing::warn!("no thread could be started for fetches");
        NotAsked
    })
}

impl Engine {
    /// A fork does not copy threads.
    fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        match self.is_of_this_process() {
            // Does not wait for threads that look up names.
            true => runtime.shutdown_background(),
            // Its threads do not exist here, so they cannot be stopped.
            false => std::mem::forget(runtime),
        }
    }
}

impl UnderWay {
    /// Waits until everything has come, at most for `patience`; returns whether it has.
    pub fn wait(&mut self, patience: Duration) -> bool {
        if self.came.is_some() {
            return true;
        }
        let left = self.overdue.saturating_duration_since(Instant::now());
        match self.outcomes.recv_timeout(patience.min(left)) {
            Ok(came) => {
                self.came = Some(came);
                true
            }
            Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => patience >= left,
        }
    }

    /// Supplies the results as [`Fetcher::settle`] does. Returns the time and requests that are
    /// left for another round. Call [`UnderWay::wait`] first: if the fetches have not ended,
    /// nothing is supplied.
    ///
    /// # Errors
    /// A source could not be fetched because of a fault of this machine, or the fetches have not
    /// ended.
    pub fn settle(
        mut self,
        questions: &mut impl Questions,
        now: UnixMillis,
    ) -> Result<Allowance, NotAsked> {
        let (outcomes, left) = self.came.take().ok_or(NotAsked)?;
        let scope = questions.scope();
        self.engine.fetcher.settle_for(questions, &outcomes, &scope, now)?;
        Ok(left)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.task.abort();
    }
}
