//! CPU time of recorded requests, by stage. A stage is not a span: its wall-clock time means
//! little, it may run on another thread, and there are more stages than a request may have spans.
//! Each stage has its own time, without that of nested stages, so that all of them add up to the
//! cost of the request.
//!
//! Reading a thread's clock is a system call, so it is skipped where nothing is recorded.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Key, Value};
use crate::clock::ThreadCpu;

/// The purpose of a part of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Everything else: routes, limits, bodies, and the work of use cases between the other stages.
    Request,
    /// Finding the key's owner, without the database read.
    Authenticate,
    /// Reading and decrypting rows, on the store's read threads.
    Read,
    /// From the body of a creation to a session and its link.
    Make,
    /// Signing the Request Object.
    Sign,
    /// From the body of an answer to its verdict.
    Verify,
    /// Encrypting what is stored.
    Seal,
    /// Writing rows, on the store's write thread; without the commit, which a group shares.
    Write,
    /// The body of the response.
    Answer,
    /// Work for the trace alone, including its database reads.
    Trace,
}

impl Stage {
    /// All stages.
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

/// The time of each stage of one request or delivery.
#[derive(Debug, Default)]
pub(super) struct Cpu([AtomicU64; Stage::ALL.len()]);

impl Cpu {
    /// The time of each stage that took any.
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

    /// The array has one entry for each stage.
    fn of(&self, stage: Stage) -> Option<&AtomicU64> {
        self.0.get(stage as usize)
    }
}

thread_local! {
    /// The stage that this thread is in.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

struct Running {
    meter: Meter,
    since: ThreadCpu,
}

/// Counts for one stage of a recording, on any thread.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) cpu: Arc<Cpu>,
    pub(super) stage: Stage,
}

/// Whether this thread works for the trace alone; no part of that counts for another stage.
pub(super) fn is_for_trace() -> bool {
    let running = RUNNING.try_with(|running| {
        let running = running.try_borrow().ok()?;
        Some(running.as_ref()?.meter.stage == Stage::Trace)
    });
    running.ok().flatten().unwrap_or(false)
}

impl Meter {
    /// Runs `work` as part of the stage.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _within = Within { outer: switch(Some(self.clone())) };
        work()
    }

    /// The same for a future: counts each poll.
    pub(super) async fn run_each<F: Future>(self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| self.run(|| work.as_mut().poll(context))).await
    }
}

/// Restores the thread's previous stage, even after a panic.
struct Within {
    outer: Option<Meter>,
}

impl Drop for Within {
    fn drop(&mut self) {
        switch(self.outer.take());
    }
}

/// Charges the time so far to the thread's stage, and switches to `next`. Returns the previous
/// stage.
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
    fn a_stage_excludes_the_time_of_nested_stages() {
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
        // Time counted twice, or counted after the end, would exceed the total.
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
    async fn a_future_is_counted_in_each_poll_on_any_thread() {
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
        // The thread did other work while the future waited.
        assert!(request >= 4 * MS && request + 5 * MS <= all, "{request}, {all}");
        assert!(write >= 4 * MS && write <= writing, "{write}, {writing}");
    }
}
