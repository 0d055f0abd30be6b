//! CPU time of this thread, and instructions where the machine counts them.

use std::cell::RefCell;

use rustix::time::{ClockId, clock_gettime};

use super::NOISE_NS;

/// The least that was measured: whatever disturbs makes it more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) cpu_ns: f64,
    /// Of user space.
    pub(super) instructions: Option<f64>,
}

/// Of so many calls at least, and of more while they are short.
const CALLS: usize = 3;
const ENOUGH_NS: f64 = 4_000_000.0;

impl Cost {
    /// How many times the other one it is, if that is more than `times` and some `slack` by both
    /// measures: where instructions are counted, they do not change with the load of the machine.
    pub(super) fn exceeds(&self, other: &Self, times: f64, slack: f64) -> Option<f64> {
        let found = self.cpu_ns / other.cpu_ns;
        let by_time = self.cpu_ns > other.cpu_ns * times + NOISE_NS + slack;
        let by_count = match (self.instructions, other.instructions) {
            (Some(own), Some(other)) => own > other * times,
            _ => true,
        };
        (by_time && by_count).then_some(found)
    }
}

/// What `work` costs.
pub(super) fn measure(mut work: impl FnMut()) -> Cost {
    let mut least = Cost { cpu_ns: f64::INFINITY, instructions: None };
    let (mut calls, mut spent) = (0, 0.0);
    while calls < CALLS || (spent < ENOUGH_NS && calls < 50) {
        let counting = start_counting();
        let begun = thread_ns();
        work();
        let cpu_ns = thread_ns() - begun;
        let instructions = counting.then(stop_counting).flatten();
        if cpu_ns < least.cpu_ns {
            least = Cost { cpu_ns, instructions };
        }
        calls += 1;
        spent += cpu_ns;
    }
    least
}

fn thread_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

thread_local! {
    static COUNTER: RefCell<Option<perf_event::Counter>> = RefCell::new(counter().ok());
}

/// Instructions of this thread, in user space.
fn counter() -> std::io::Result<perf_event::Counter> {
    perf_event::Builder::new().kind(perf_event::events::Hardware::INSTRUCTIONS).build()
}

/// Whether they are counted here.
pub(super) fn instructions() -> String {
    match counter() {
        Ok(_) => "counted".into(),
        Err(error) => format!("not counted here: {error}"),
    }
}

fn start_counting() -> bool {
    COUNTER.with_borrow_mut(|counter| {
        counter.as_mut().is_some_and(|own| own.reset().and_then(|()| own.enable()).is_ok())
    })
}

fn stop_counting() -> Option<f64> {
    COUNTER.with_borrow_mut(|counter| {
        let own = counter.as_mut()?;
        own.disable().ok()?;
        own.read().ok().map(|count| count as f64)
    })
}
