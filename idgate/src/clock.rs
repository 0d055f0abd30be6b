//! The system time.

use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::UnixMillis;

/// The current time. A clock before 1970 reads 1970.
#[allow(
    clippy::disallowed_methods,
    reason = "this crate has IO, and its callers no clock of their own"
)]
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
