//! The actions that the embedder carries out after a commit.

use crate::error::{Reason, WalletError};
use crate::session::Status;
use crate::time::UnixMillis;

/// An action to carry out after the transition is stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Publish these status changes in this order.
    PublishStatus {
        /// The new status.
        status: Status,
        /// The reason, if FAILED or EXPIRED.
        reason: Option<Reason>,
        /// The wallet's error, if that is the reason.
        wallet_error: Option<WalletError>,
        /// The time of the change.
        occurred_at: UnixMillis,
    },
    /// Check the session at this time: if it is still open, it has expired.
    ExpireAt(UnixMillis),
    /// Delete claims and verification details at this time.
    RedactClaimsAt(UnixMillis),
}
