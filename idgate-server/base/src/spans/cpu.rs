//! Where the CPU time of what is recorded goes, by stage. A stage is no span: how long it took on the wall
//! says nothing, it may lie on another thread, and there are more of them than spans of a request. Each has
//! its own time, without that of the stages within it, so that they sum up to what the request cost.
//!
//! Reading the clock of a thread is a call of the system. Where nothing is recorded it is not read.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Key, Value};
use crate::clock::ThreadCpu;

/// What a part of a request is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// What is of no other stage: routes, limits, bodies, and what use cases do between the others.
    Request,
    /// Whose key it is, without the look into the database.
    Authenticate,
    /// Rows, read and opened, on the threads of the store that read.
    Read,
    /// From the body of a creation to a session and its link.
    Make,
    /// The Request Object.
    Sign,
    /// From the body of an answer to its verdict.
    Verify,
    /// What is stored, sealed.
    Seal,
    /// Rows, written, on the thread of the store that writes; without the commit, which a group shares.
    Write,
    /// The body of the answer.
    Answer,
    /// What is done for the trace alone, reads of rows included.
    Trace,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Request,
        Self::Authenticate,
        Self::Read,
        Self::Make,
        Self::Sign,
        Self::Verify,
        Self::Seal,
        Self::Write,
        Self::Answer,
        Self::Trace,
    ];
}

/// What each stage of one request or delivery has taken.
#[derive(Debug, Default)]
pub(super) struct Cpu([AtomicU64; Stage::ALL.len()]);

impl Cpu {
    /// What each took that took anything.
    pub(super) fn attributes(&self) -> Vec<(Key, Value)> {
        let attribute = |stage| {
            let ns = self.of(stage)?.load(Ordering::Relaxed);
            let ns = i64::try_from(ns).ok().filter(|ns| *ns > 0)?;
            Some((Key::Cpu(stage), Value::Number(ns)))
        };
        Stage::ALL.into_iter().filter_map(attribute).collect()
    }

    fn add(&self, stage: Stage, ns: u64) {
        if let Some(all) = self.of(stage) {
            all.fetch_add(ns, Ordering::Relaxed);
        }
    }

    /// There are as many as stages, so each has one.
    fn of(&self, stage: Stage) -> Option<&AtomicU64> {
        self.0.get(stage as usize)
    }
}

thread_local! {
    /// What this thread is at.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

struct Running {
    meter: Meter,
    since: ThreadCpu,
}

/// Counts for one stage of what is recorded, on whichever thread.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) cpu: Arc<Cpu>,
    pub(super) stage: Stage,
}

/// Whether this thread is at what is done for the trace alone: no part of it is of another stage.
pub(super) fn is_for_trace() -> bool {
    let running = RUNNING.try_with(|running| {
        let running = running.try_borrow().ok()?;
        Some(running.as_ref()?.meter.stage == Stage::Trace)
    });
    running.ok().flatten().unwrap_or(false)
}

impl Meter {
    /// Runs `work` as a part of the stage.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _within = Within { outer: switch(Some(self.clone())) };
        work()
    }

    /// The same for what waits: each time that it goes on.
    pub(super) async fn run_each<F: Future>(self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| self.run(|| work.as_mut().poll(context))).await
    }
}

/// Goes back to what the thread was at, also when the work panics.
struct Within {
    outer: Option<Meter>,
}

impl Drop for Within {
    fn drop(&mut self) {
        switch(self.outer.take());
    }
}

/// Counts what the thread was at so far, and what it is at from now on. Gives what it was at.
fn switch(next: Option<Meter>) -> Option<Meter> {
    let switched = RUNNING.try_with(|running| {
        let mut running = running.try_borrow_mut().ok()?;
        let now = ThreadCpu::now();
        let before = running.take();
        *running = next.map(|meter| Running { meter, since: now });
        let Running { meter, since } = before?;
        meter.cpu.add(meter.stage, now.since(since));
        Some(meter)
    });
    switched.ok().flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn burn(ms: u64) {
        let begun = ThreadCpu::now();
        while ThreadCpu::now().since(begun) < ms * MS {
            std::hint::black_box(0);
        }
    }

    fn taken(cpu: &Cpu, stage: Stage) -> u64 {
        let all = cpu.attributes();
        let found = all.into_iter().find(|(key, _)| *key == Key::Cpu(stage));
        match found {
            Some((_, Value::Number(ns))) => u64::try_from(ns).unwrap(),
            _ => 0,
        }
    }

    fn meter(cpu: &Arc<Cpu>, stage: Stage) -> Meter {
        Meter { cpu: cpu.clone(), stage }
    }

    #[test]
    fn a_stage_has_its_own_time_without_that_of_those_within() {
        let cpu = Arc::new(Cpu::default());
        let begun = ThreadCpu::now();
        meter(&cpu, Stage::Request).run(|| {
            burn(3);
            meter(&cpu, Stage::Verify).run(|| {
                burn(20);
                meter(&cpu, Stage::Seal).run(|| burn(6));
            });
            burn(3);
        });
        let all = ThreadCpu::now().since(begun);
        burn(5);
        let (request, verify, seal) =
            (taken(&cpu, Stage::Request), taken(&cpu, Stage::Verify), taken(&cpu, Stage::Seal));
        assert!(request >= 6 * MS && verify >= 20 * MS && seal >= 6 * MS);
        // Time that two stages counted, or that came after them, would be more than there was.
        let sum = request + verify + seal;
        assert!(sum <= all, "{request} + {verify} + {seal} > {all}");
        assert_eq!(cpu.attributes().len(), 3, "a stage that took nothing is left out");
    }

    #[test]
    fn a_panic_ends_its_stage() {
        let cpu = Arc::new(Cpu::default());
        let begun = ThreadCpu::now();
        let panics = || meter(&cpu, Stage::Verify).run(|| std::panic::resume_unwind(Box::new(())));
        let all = meter(&cpu, Stage::Request).run(|| {
            let panicked: Result<(), _> =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
            assert!(panicked.is_err());
            let all = ThreadCpu::now().since(begun);
            burn(8);
            all
        });
        assert!(taken(&cpu, Stage::Request) >= 8 * MS);
        assert!(taken(&cpu, Stage::Verify) <= all);
    }

    #[tokio::test]
    async fn what_waits_is_counted_when_it_goes_on_and_on_whichever_thread() {
        let cpu = Arc::new(Cpu::default());
        let (request, write) = (meter(&cpu, Stage::Request), meter(&cpu, Stage::Write));
        let (resume, resumed) = tokio::sync::oneshot::channel();
        let begun = ThreadCpu::now();
        let waiting = request.run_each(async {
            resumed.await.unwrap();
            burn(4);
            let writes = move || {
                let begun = ThreadCpu::now();
                write.run(|| burn(4));
                ThreadCpu::now().since(begun)
            };
            std::thread::spawn(writes).join().unwrap()
        });
        let other = async {
            burn(5);
            resume.send(()).unwrap();
        };
        let (writing, ()) = tokio::join!(waiting, other);
        let all = ThreadCpu::now().since(begun);
        let (request, write) = (taken(&cpu, Stage::Request), taken(&cpu, Stage::Write));
        // The thread did something else while it waited.
        assert!(request >= 4 * MS && request + 5 * MS <= all, "{request}, {all}");
        assert!(write >= 4 * MS && write <= writing, "{write}, {writing}");
    }
}
