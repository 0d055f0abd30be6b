//! Restarts background tasks that panic. A panic is a bug in this program; it must not silently end
//! the erasure of claims, the checkpoints or the notifications.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::stop::stopped;
use idgate_base::clock::Stopwatch;
use idgate_base::task::boxed;
use idgate_base::telemetry::Telemetry;

/// Older panics are forgotten.
const WINDOW_US: u64 = 10 * 60 * 1_000_000;
/// Panics within the window after which a task counts as failing: the gateway is not ready until
/// the task has run for a whole window without a panic.
const TOO_MANY: usize = 3;
/// Pause before the first restart: not longer than an erasure may be delayed anyway.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Each pause is twice as long as the last, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Restarts tasks that panic, and tracks those that do so too often.
pub struct Supervisor {
    telemetry: Arc<Telemetry>,
    since_start: Stopwatch,
    tasks: Mutex<HashMap<&'static str, History>>,
}

/// The panics of one task.
#[derive(Debug, Default)]
struct History {
    /// The times of the panics in the window, in microseconds.
    recent: VecDeque<u64>,
    /// There were too many panics, and no window without one since. Without this flag, a task that
    /// panics every few minutes would seem well each time its oldest panic is forgotten.
    is_unwell: bool,
}

impl Supervisor {
    /// A supervisor that counts panics in `telemetry`.
    pub fn new(telemetry: Arc<Telemetry>) -> Self {
        Self { telemetry, since_start: Stopwatch::new(), tasks: Mutex::default() }
    }

    /// Whether no task panicked three times within ten minutes and again in the last ten.
    pub fn is_well(&self) -> bool {
        let now = self.since_start.elapsed_us();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.values_mut().all(|history| history.is_well_at(now))
    }

    /// Runs the task that `start` creates until it ends by itself, and restarts it when it panics,
    /// unless `stop` says so or its sender is gone.
    pub async fn keep<F>(
        self: Arc<Self>,
        task: &'static str,
        mut stop: watch::Receiver<bool>,
        start: impl Fn(watch::Receiver<bool>) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            // The panic hook has already logged the message and location.
            match tokio::spawn(boxed(start(stop.clone()))).await {
                Err(error) if error.is_panic() => {}
                Ok(()) | Err(_) => return,
            }
            let pause = self.note(task);
            tracing::error!(task, ?pause, "a task panicked; it is restarted");
            tokio::select! {
                () = stopped(&mut stop) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Counts a panic; returns how long to wait.
    fn note(&self, task: &'static str) -> Duration {
        self.telemetry.task_restarted(task);
        let now = self.since_start.elapsed_us();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = tasks.entry(task).or_default().note_at(now);
        FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(before)).min(LONGEST_PAUSE)
    }
}

impl History {
    /// Counts a panic at `now`; returns how many came before it in the window.
    fn note_at(&mut self, now: u64) -> u32 {
        self.forget_before(now);
        let before = self.recent.len();
        self.recent.push_back(now);
        self.is_unwell |= self.recent.len() >= TOO_MANY;
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    fn is_well_at(&mut self, now: u64) -> bool {
        self.forget_before(now);
        self.is_unwell &= !self.recent.is_empty();
        !self.is_unwell
    }

    fn forget_before(&mut self, now: u64) {
        while self.recent.front().is_some_and(|at| now.saturating_sub(*at) >= WINDOW_US) {
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_restarted_and_counts_as_failing_the_third_time() {
        let telemetry = Arc::new(Telemetry::new().unwrap());
        let supervisor = Arc::new(Supervisor::new(telemetry.clone()));
        let starts = Arc::new(AtomicUsize::new(0));
        let (_running, stop) = watch::channel(false);
        let (counted, seen) = (starts.clone(), supervisor.clone());
        let task = supervisor.clone().keep("sample", stop, move |_| {
            let (start, seen) = (counted.fetch_add(1, Ordering::SeqCst), seen.clone());
            async move {
                assert_eq!(seen.is_well(), start < 3, "start {start}");
                assert!(start >= 3, "on purpose");
            }
        });
        let began = tokio::time::Instant::now();
        task.await;
        assert_eq!(starts.load(Ordering::SeqCst), 4);
        assert!(!supervisor.is_well());
        // 100, 200 and 400 ms.
        assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
        let text = telemetry.text().unwrap();
        assert!(text.contains(r#"idgate_task_restarts_total{task="sample"} 3"#), "{text}");
    }

    #[test]
    fn panics_every_four_minutes_keep_the_gateway_not_ready_from_the_third_on() {
        const MINUTE: u64 = 60 * 1_000_000;
        let mut history = History::default();
        for minute in 0..60 {
            if minute % 4 == 0 {
                history.note_at(minute * MINUTE);
            }
            assert_eq!(history.is_well_at(minute * MINUTE), minute < 8, "minute {minute}");
        }
        let last = 56 * MINUTE;
        assert!(!history.is_well_at(last + WINDOW_US - 1));
        assert!(history.is_well_at(last + WINDOW_US), "a window without a panic");
        assert_eq!(history.note_at(last + WINDOW_US), 0, "and then it starts over");
        assert!(history.is_well_at(last + WINDOW_US));
    }

    #[test]
    fn two_panics_within_the_window_do_not_count_as_failing() {
        let mut history = History::default();
        for n in 0..1000 {
            // Never a third panic within the window.
            history.note_at(n * WINDOW_US / 2);
            assert!(history.is_well_at(n * WINDOW_US / 2), "panic {n}");
        }
    }

    #[tokio::test]
    async fn a_stopped_task_is_not_restarted() {
        let telemetry = Arc::new(Telemetry::new().unwrap());
        let (stop, stopped) = watch::channel(true);
        let supervisor = Arc::new(Supervisor::new(telemetry));
        supervisor.keep("sample", stopped, |_| async { panic!("on purpose") }).await;
        drop(stop);
    }
}
