//! The signal that the gateway stops.

use tokio::sync::watch;

/// Resolves when `stop` says so, or when its sender is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    let _ = stop.wait_for(|stop| *stop).await;
}
