//! Notifications to the service manager that started the gateway (`NOTIFY_SOCKET`, sd_notify(3)).

use std::time::Duration;

use sd_notify::NotifyState::{self, Ready, Reloading, Stopping, Watchdog};

/// The gateway serves with its current settings.
pub(crate) fn ready() {
    tell(&[Ready]);
}

/// Certificate and key are being reloaded; [`ready`] follows.
pub(crate) fn reloading() {
    // systemd ignores the message without a time of its monotonic clock.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot notify systemd of the reload"),
    }
}

/// The gateway is stopping.
pub(crate) fn stopping() {
    tell(&[Stopping]);
}

/// Sends regular watchdog messages while this runtime works, twice as often as required
/// (`WatchdogSec=`); ends immediately without a watchdog. An unreachable database is not a reason
/// for a restart, so nothing else is checked.
pub(crate) async fn stay_alive() {
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let mut turns = tokio::time::interval((patience / 2).max(Duration::from_millis(1)));
    loop {
        turns.tick().await;
        tell(&[Watchdog]);
    }
}

fn tell(words: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(words) {
        tracing::warn!(%error, "cannot notify systemd at NOTIFY_SOCKET");
    }
}
