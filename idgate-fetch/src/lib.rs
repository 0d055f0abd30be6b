//! Guarded outgoing HTTP: what a verification has to ask others, which are status lists and CRLs, and
//! what the gateway has to tell them, which are webhooks. The addresses come from strangers, so
//!
//! - a name is resolved once, every address of it must be public or in a range that was allowed, and
//!   the connection goes to one of those addresses and nowhere else;
//! - redirects are followed where a body is asked for, three at most, and each address is checked as the
//!   first one was: none leads from a public address to one that is merely allowed, nor from https to
//!   http. Proxies that the environment names are not used, and connections are not used twice;
//! - a compressed body (`gzip`) is inflated as it comes, up to its bound;
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
mod clock;
mod decide;
mod delivery;
mod egress;
mod fetch;
mod flights;
mod limits;
#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod loopback;
pub mod own_fault;
mod permits;
mod questions;
mod range;
mod requests;
#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod silence;
mod store;
mod tls;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tls_loopback;

pub use self::blocking::{BlockingFetcher, UnderWay};
pub use self::cache::Scope;
pub use self::decide::NotDecided;
pub use self::egress::{Answer, Body, Egress, EgressError, Post, Room, has_usual_port};
pub use self::fetch::{Fetcher, NotAsked, Outcomes};
pub use self::flights::{Allowance, Asked};
pub use self::range::Cidr;
pub use self::store::{Committed, Store};
pub use self::tls::UnusableRoots;
