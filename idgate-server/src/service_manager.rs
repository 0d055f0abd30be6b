//! What the service manager is told, where one started the gateway (`NOTIFY_SOCKET`, sd_notify(3)).

use std::time::Duration;

use sd_notify::NotifyState::{self, Ready, Reloading, Stopping, Watchdog};

/// It serves, with the settings that it has.
pub(crate) fn ready() {
    tell(&[Ready]);
}

/// Certificate and key are read again; [`ready`] follows.
pub(crate) fn reloading() {
    // Without the time of the clock that systemd counts by, it takes the word for none.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[Reloading, now]),
        Err(error) => tracing::warn!(%error, "systemd was not told of the reload"),
    }
}

/// It takes its leave.
pub(crate) fn stopping() {
    tell(&[Stopping]);
}

/// Says again and again that this runtime still turns, twice as often as is asked for (`WatchdogSec=`);
/// ends at once where nobody asks. A database that is away is not a reason to be started again, so
/// nothing else is looked at.
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
        tracing::warn!(%error, "systemd does not listen at NOTIFY_SOCKET");
    }
}
