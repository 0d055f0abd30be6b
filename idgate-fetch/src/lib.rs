//! Guarded outgoing HTTP: what a verification has to ask others, which are status lists and CRLs, and
//! what the gateway has to tell them, which are webhooks. The addresses come from strangers, so
//!
//! - a name is resolved once, every address of it must be public or in a range that was allowed, and
//!   the connection goes to one of those addresses and nowhere else;
//! - redirects stay on the host and are checked again, three at most; there are no proxies, whatever
//!   the environment says, no reuse of connections, no decompression;
//! - sizes, times, and how much is under way for one host, one issuer and in all are bounded, and each
//!   bound stands in `limits.rs`.
//!
//! ```text
//!  Need ──> Fetcher (remembers, asks once for all who wait) ──> Egress (checks, pins, bounds) ──> socket
//! ```
//!
//! What is believed of a body is the library's to say: everything goes through
//! [`idgate_core::Verification`], and only what that calls authentic is remembered.

mod address;
mod blocking;
mod cache;
mod came;
mod egress;
mod fetch;
mod flights;
mod limits;
#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod loopback;
pub mod own_fault;
mod permits;
mod range;
#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod silence;
mod tls;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tls_loopback;

pub use self::blocking::{BlockingFetcher, NotDecided, UnderWay};
pub use self::cache::Scope;
pub use self::egress::{Answer, Body, Egress, EgressError, Post, Room, has_usual_port};
pub use self::fetch::{Fetcher, NotAsked, Outcomes};
pub use self::flights::{Allowance, Asked};
pub use self::range::Cidr;
pub use self::tls::UnusableRoots;
