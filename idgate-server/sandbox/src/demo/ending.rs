//! How sample gateways end: Ctrl-C, a service manager's signal, or a closed terminal.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Once this exists, the signals no longer end the process directly, so temporary folders are
/// removed first.
pub(crate) struct Ending {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the process was started to outlive its terminal, for example with `nohup`.
    hang_up: Option<Signal>,
}

impl Ending {
    /// # Errors
    /// The process cannot listen for signals.
    pub(crate) fn new() -> Result<Self, String> {
        let listen =
            |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        let hang_up = (!outlives_terminals()).then(|| listen(SignalKind::hangup())).transpose()?;
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: listen(interrupt)?, terminate: listen(terminate)?, hang_up })
    }

    /// Waits for one of the signals.
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

/// Whether the process was started with SIGHUP ignored; `false` where /proc does not say.
fn outlives_terminals() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, the lowest bit.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
