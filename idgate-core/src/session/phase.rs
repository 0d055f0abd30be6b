//! The phases of a session.

use serde::{Deserialize, Serialize};

use crate::error::{Reason, WalletError};
use crate::time::UnixMillis;

/// The phase of a session: its status, with the data that only this status has.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
#[non_exhaustive]
pub enum Phase {
    /// Created; no wallet has seen the request.
    Created,
    /// A wallet can answer.
    Pending,
    /// The answer has passed all checks so far, and its status is being fetched.
    Verifying {
        /// When the lease ends and the session becomes PENDING again.
        lease_until: UnixMillis,
    },
    /// Answered and genuine.
    Verified {
        /// The time of the verdict.
        at: UnixMillis,
    },
    /// Answered and refused.
    Failed {
        /// The time of the verdict.
        at: UnixMillis,
        /// The reason.
        reason: Reason,
        /// The wallet's own error, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wallet_error: Option<WalletError>,
    },
    /// Not answered in time.
    Expired {
        /// The time of the expiry.
        at: UnixMillis,
    },
}
