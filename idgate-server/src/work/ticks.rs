//! Periodic work.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::stop::stopped;

/// Does `work` immediately and after every `pause`, until `stop` says so or its sender is gone.
/// Work in progress is then dropped.
pub(super) async fn repeat<W: Future<Output = ()>>(
    pause: Duration,
    mut stop: watch::Receiver<bool>,
    mut work: impl FnMut() -> W,
) {
    let mut ticks = tokio::time::interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stop) => return,
        }
        tokio::select! {
            () = work() => {}
            () = stopped(&mut stop) => return,
        }
    }
}
