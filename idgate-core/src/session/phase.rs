//! The phases of a session.

use serde::{Deserialize, Serialize};

use crate::error::{Reason, WalletError};
use crate::time::UnixMillis;

/// Where a session stands (decisions 8).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
#[non_exhaustive]
pub enum Phase {
    /// Made; no wallet has seen the request.
    Created,
    /// A wallet can answer.
    Pending,
    /// An answer is good so far and its status is being asked for.
    Verifying {
        /// When the lease is lost and the session is PENDING again.
        lease_until: UnixMillis,
    },
    /// Answered and genuine.
    Verified {
        /// When.
        at: UnixMillis,
    },
    /// Answered and refused.
    Failed {
        /// When.
        at: UnixMillis,
        /// Why.
        reason: Reason,
        /// The wallet's own error, when that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wallet_error: Option<WalletError>,
    },
    /// Not answered in time.
    Expired {
        /// When.
        at: UnixMillis,
    },
}
