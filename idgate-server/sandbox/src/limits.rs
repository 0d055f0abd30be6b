//! Every number that bounds what the sandbox takes, with its reason.

use std::time::Duration;

/// The head of a request: the gateway takes as much.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// A body that the sandbox takes: as large as a wallet's answer may be.
pub(crate) const MAX_SANDBOX_BODY_BYTES: usize = 1024 * 1024;
/// Connections to one of the sandbox's own listeners: a browser, a phone and the gateway itself.
pub(crate) const MAX_SANDBOX_CONNECTIONS: usize = 128;
/// For one exchange of the sandbox: longer than a verification that fetches.
pub(crate) const SANDBOX_EXCHANGE_TIME: Duration = Duration::from_secs(15);
