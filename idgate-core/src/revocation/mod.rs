//! Revocation: the status that a credential publishes, the trust entry's requirements, and the
//! reading of status sources. The embedder fetches sources after all other checks: core returns
//! what it needs ([`Need`]) and judges the answers ([`Supplied`]). A status that cannot be
//! determined is unknown, and unknown never counts as good.

mod context;
#[cfg(all(test, feature = "aws-lc-rs"))]
pub(crate) mod fixtures;
pub(crate) mod inquiry;
mod outcome;
mod published;
mod renewal;
mod source;
pub(crate) mod token_status_list;

pub(crate) use self::context::{SignerStatus, StatusContext, Voucher};
pub(crate) use self::inquiry::{Inquiry, check_count, needs_of};
#[cfg(feature = "internals")]
pub use self::inquiry::{is_good_by_crls, is_good_by_identifier_list, is_good_by_status_list};
pub use self::outcome::{Revocation, RevocationDetails, RevocationOutcome};
pub(crate) use self::published::{Published, PublishedStatus};
pub use self::source::{Need, SourceFault, Supplied, VerifiedSource};
