//! Waits of tests. A test waits for an event and never for a time: the cap ends only a test that hangs.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The cap of a wait: a minute, times the whole number in `IDGATE_TEST_PATIENCE`. No verdict depends on it.
#[must_use]
pub fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let times = std::env::var("IDGATE_TEST_PATIENCE").ok();
        let times = times.and_then(|times| times.parse().ok()).unwrap_or(1);
        Duration::from_secs(60) * times
    })
}

/// Waits until `condition` holds.
///
/// # Panics
///
/// It never does.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || condition().then_some(()));
}

/// Waits until `value` returns a value, and returns it.
///
/// # Panics
///
/// It never does.
#[track_caller]
#[allow(clippy::panic, reason = "for tests")]
#[allow(clippy::disallowed_methods, reason = "the cap of a wait is real time")]
pub fn eventually_some<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        // reason: the pause between two looks; the test waits for the event
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Waits until `holds`, in a task.
///
/// # Panics
///
/// It never does.
#[cfg(feature = "tokio")]
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waiting = async {
        let mut pause = Duration::from_millis(1);
        while !holds().await {
            // reason: the pause between two looks; the test waits for the event
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    };
    in_time(what, waiting).await;
}

/// Runs `work` to its end, in a task.
///
/// # Panics
///
/// It never ends.
#[cfg(feature = "tokio")]
#[allow(clippy::panic, reason = "for tests")]
pub async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(patience(), work).await;
    done.unwrap_or_else(|_| panic!("never: {what}"))
}
