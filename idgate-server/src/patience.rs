//! How tests wait for what other tasks do. The cap of a wait ends only a test that hangs.

use std::future::Future;
use std::time::Duration;

use idgate_testkit::patience::patience;

/// Waits until `holds`.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waiting = async {
        let mut pause = Duration::from_millis(1);
        while !holds().await {
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(Duration::from_millis(50));
        }
    };
    in_time(what, waiting).await;
}

/// Runs `work` to its end.
#[allow(clippy::panic, reason = "for tests")]
pub(crate) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(patience(), work).await;
    done.unwrap_or_else(|_| panic!("never: {what}"))
}
