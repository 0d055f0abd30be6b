//! Jobs, and how a group of them is run inside one transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use crate::sqlite::writer::batch::Batch;
use crate::sqlite::writer::stopped;
use crate::types::StoreError;

/// A unit of work, and the caller that waits for it.
pub(super) trait Job: Send {
    /// Does the work. `false`: undo it.
    fn work(&mut self, batch: &mut Batch<'_>) -> bool;
    /// Whether it runs on a full disk as well.
    fn erases(&self) -> bool;
    /// Whether it failed for lack of disk space. SQLite may have rolled back everything then.
    fn found_no_room(&self) -> bool;
    /// Answers once the outcome of the transaction is known.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

pub(super) struct Task<T, F> {
    work: F,
    erases: bool,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Task<T, F> {
    pub(super) fn new(
        work: F,
        erases: bool,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) -> Self {
        Self { work, erases, result: None, reply }
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&mut Batch<'_>) -> Result<T, StoreError> + Send,
{
    fn work(&mut self, batch: &mut Batch<'_>) -> bool {
        // A panic counts as a failure and is undone: the thread has other callers to serve, and
        // claims to erase.
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(batch)))
            .unwrap_or_else(|_| Err(StoreError::Failed("a write did not finish".into())));
        let done = result.is_ok();
        self.result = Some(result);
        done
    }

    fn erases(&self) -> bool {
        self.erases
    }

    fn found_no_room(&self) -> bool {
        matches!(self.result, Some(Err(StoreError::Full)))
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match outcome {
            Ok(()) => self.result.unwrap_or_else(|| Err(stopped())),
            Err(error) => Err(error),
        };
        // The receiver may be gone.
        let _ = self.reply.send(result);
    }
}

/// Which jobs are answered only after the erasure.
pub(super) type Waiting = Vec<bool>;
/// How one job of a group is run. `false`: it failed, and the whole group has to be undone.
pub(super) type RunOne = fn(&mut dyn Job, &mut Batch<'_>) -> Result<bool, StoreError>;

/// Runs the jobs one after another. `None`: the whole group has to be undone.
pub(super) fn run(
    group: &mut [Box<dyn Job>],
    batch: &mut Batch<'_>,
    run_one: RunOne,
) -> Result<Option<Waiting>, StoreError> {
    let mut waiting = Waiting::with_capacity(group.len());
    for job in group {
        batch.answer_after_erasure = false;
        if !run_one(job.as_mut(), batch)? {
            return Ok(None);
        }
        waiting.push(batch.answer_after_erasure);
    }
    batch.chains.write()?;
    Ok(Some(waiting))
}

/// Runs a job without a savepoint.
pub(super) fn together(job: &mut dyn Job, batch: &mut Batch<'_>) -> Result<bool, StoreError> {
    let done = job.work(batch);
    if job.found_no_room() { Err(StoreError::Full) } else { Ok(done) }
}

/// Runs a job in a savepoint: if it fails, it is undone alone.
pub(super) fn apart(job: &mut dyn Job, batch: &mut Batch<'_>) -> Result<bool, StoreError> {
    batch.main.prepare_cached("SAVEPOINT job")?.execute([])?;
    let before = batch.noted();
    if job.work(batch) {
        batch.chains.write()?;
    } else if job.found_no_room() {
        return Err(StoreError::Full);
    } else {
        batch.forget_since(before);
        batch.main.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    batch.main.prepare_cached("RELEASE job")?.execute([])?;
    Ok(true)
}
