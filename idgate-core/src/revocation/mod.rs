//! Revocation: what a credential publishes about its status, what the trust entry demands, and how
//! an answer of a source is read. Sources are asked last of all, by the embedder: core says what it
//! needs ([`Need`]) and judges what comes ([`Supplied`]). What cannot be established is unknown, and
//! unknown is never good.

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
