//! The status events of a session. They are committed with the change that they describe.

use idgate_core::UnixMillis;

/// One committed change of a session's status.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusEvent {
    /// Consecutive within the session, from 1.
    pub seq: u64,
    /// The status from here on.
    pub status: String,
    /// The reason, for FAILED or EXPIRED.
    pub reason: Option<String>,
    /// The error that the wallet sent, if that is the reason.
    pub wallet_error: Option<String>,
    /// When the change happened.
    pub occurred_at: UnixMillis,
}

/// Events of a session, read in one snapshot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventPage {
    /// In order.
    pub events: Vec<StatusEvent>,
    /// The `seq` of the session's last event, whether or not it is among `events`.
    pub last: u64,
    /// Nothing more will happen to the session.
    pub settled: bool,
}
