//! What the embedder carries out after a commit.

use crate::error::{Reason, WalletError};
use crate::session::Status;
use crate::time::UnixMillis;

/// Something to do once the transition is stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Tell listeners about a status, in this order.
    PublishStatus {
        /// The new status.
        status: Status,
        /// Why, when FAILED or EXPIRED.
        reason: Option<Reason>,
        /// What the wallet said, when that is the reason.
        wallet_error: Option<WalletError>,
        /// When.
        occurred_at: UnixMillis,
    },
    /// Look again at this instant: the session will have expired.
    ExpireAt(UnixMillis),
    /// Delete claims and verification details at this instant.
    RedactClaimsAt(UnixMillis),
}
