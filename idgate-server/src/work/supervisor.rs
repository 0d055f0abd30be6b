//! Keeps alive what runs without end beside requests. A panic is a mistake of ours; it must not end
//! in silence the erasing of claims, the checkpoints or the notifications.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::Stopwatch;
use crate::telemetry::Telemetry;

/// Panics that are older are forgotten.
const WINDOW_US: u64 = 10 * 60 * 1_000_000;
/// A task with so many of them in the window does not do its work: the gateway is not ready.
const TOO_MANY: usize = 3;
/// Before the first new start: as late as an erasure may be anyway.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Each pause is twice the one before, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Starts tasks again that panic, and knows which do so too often.
pub struct Supervisor {
    telemetry: Arc<Telemetry>,
    panics: Mutex<HashMap<&'static str, Vec<Stopwatch>>>,
}

impl Supervisor {
    /// One that counts in `telemetry`.
    pub fn new(telemetry: Arc<Telemetry>) -> Self {
        Self { telemetry, panics: Mutex::default() }
    }

    /// Whether no task panicked three times in the last ten minutes.
    pub fn is_well(&self) -> bool {
        let mut panics = self.panics.lock().unwrap_or_else(PoisonError::into_inner);
        panics.values_mut().all(|of_task| recent(of_task) < TOO_MANY)
    }

    /// Runs the task that `start` makes until it ends by itself, starting it again when it panics,
    /// unless `stop` says so or its sender is gone.
    pub async fn keep<F>(
        self: Arc<Self>,
        task: &'static str,
        mut stop: watch::Receiver<bool>,
        start: impl Fn() -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            // Its message and its place went to the log when it panicked.
            match tokio::spawn(start()).await {
                Err(error) if error.is_panic() => {}
                Ok(()) | Err(_) => return,
            }
            let pause = self.note(task);
            tracing::error!(task, ?pause, "a task panicked; it is started again");
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Counts a panic, and says how long to wait.
    fn note(&self, task: &'static str) -> Duration {
        self.telemetry.task_restarted(task);
        let mut panics = self.panics.lock().unwrap_or_else(PoisonError::into_inner);
        let of_task = panics.entry(task).or_default();
        of_task.push(Stopwatch::new());
        let before = u32::try_from(recent(of_task)).unwrap_or(u32::MAX).saturating_sub(1);
        FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(before)).min(LONGEST_PAUSE)
    }
}

/// How many are not forgotten yet.
fn recent(panics: &mut Vec<Stopwatch>) -> usize {
    panics.retain(|since| since.elapsed_us() < WINDOW_US);
    panics.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_started_again_and_the_third_time_is_too_often() {
        let telemetry = Arc::new(Telemetry::new().unwrap());
        let supervisor = Arc::new(Supervisor::new(telemetry.clone()));
        let starts = Arc::new(AtomicUsize::new(0));
        let (_running, stop) = watch::channel(false);
        let (counted, seen) = (starts.clone(), supervisor.clone());
        let task = supervisor.clone().keep("sample", stop, move || {
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

    #[tokio::test]
    async fn a_stopped_task_is_not_started_again() {
        let telemetry = Arc::new(Telemetry::new().unwrap());
        let (stop, stopped) = watch::channel(true);
        let supervisor = Arc::new(Supervisor::new(telemetry));
        supervisor.keep("sample", stopped, || async { panic!("on purpose") }).await;
        drop(stop);
    }
}
