//! A wallet of OpenID4VP 1.0 and HAIP 1.0: reads a link and the request behind it, lists the faults that a
//! conformance suite would find, and answers, honestly or with one [`Forgery`]. It does no IO: its caller
//! fetches and posts.
//!
//! Clauses without a name are of OpenID4VP 1.0; H is HAIP 1.0.

mod answer;
mod certificate;
mod dc_api;
mod findings;
mod forgery;
mod link;
mod metadata;
mod parameters;
mod query;
mod reply;
mod request;
mod request_object;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
mod transaction_data;
mod verifier_info;

pub use self::answer::Answer;
pub use self::certificate::{Certificate, check_path};
pub use self::findings::{Finding, Findings, Level};
pub use self::forgery::Forgery;
pub use self::link::{Link, WALLET_NONCE};
pub use self::query::{CredentialQuery, CredentialSet, Format, Query};
pub use self::reply::check_reply;
pub use self::request::{Expected, Fetched, Keys, Prefix, Request};
