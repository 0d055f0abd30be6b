//! How sample gateways are ended: by Ctrl-C, by a service manager, or by a terminal that closes.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Once it is made the signals end nothing by themselves, so that a folder that goes away does go.
pub(crate) struct Ending {
    interrupt: Signal,
    terminate: Signal,
    /// `None`: whoever began this, as `nohup` does, wants it to outlive its terminal.
    hang_up: Option<Signal>,
}

impl Ending {
    /// # Errors
    /// Signals cannot be listened for.
    pub(crate) fn new() -> Result<Self, String> {
        let listen =
            |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        let hang_up = (!outlives_terminals()).then(|| listen(SignalKind::hangup())).transpose()?;
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: listen(interrupt)?, terminate: listen(terminate)?, hang_up })
    }

    /// Waits until one of them comes.
    pub(crate) async fn told(&mut self) {
        let Self { interrupt, terminate, hang_up } = self;
        let hung_up = async {
            match hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// Whether this process was begun with the hangup ignored; where there is no such file it was not.
fn outlives_terminals() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The hangup is the first of the signals.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
