//! Verify wallets in a service of your own. `idgate-core` decides and does no IO; this crate does the IO around it.
//!
//! - [`Wallets`]: serves the routes of OpenID4VP that wallets use, by `http` types; with the feature `tower` a
//!   service for axum and its like.
//! - [`Fetcher`]: takes a verification to its stored decision, or verifies one presentation, and fetches the status
//!   lists and CRLs that it needs.
//! - [`Store`]: the trait of your database.
//! - [`BlockingFetcher`]: for programs without a runtime.
//!
//! The addresses of status lists come from strangers, so the way out is guarded:
//!
//! - a name is resolved once, every address of it must be public or in a range that was allowed, and
//!   the connection goes to one of those addresses and nowhere else;
//! - redirects are followed where a body is asked for, three at most, and each address is checked like the
//!   first one: none leads from a public address to one that is merely allowed, nor from https to
//!   http. Proxies that the environment names are not used, and connections are not used twice;
//! - a compressed body (`gzip`) is inflated as it comes, up to its bound;
//! - sizes, times, and the fetches under way for one host, for one issuer and in all are bounded.
//!
//! ```text
//!  Need ──> Fetcher (remembers, asks once for all who wait) ──> Egress (checks, pins, bounds) ──> socket
//! ```
//!
//! The library judges each body: everything goes through [`idgate_core::Verification`], and only what that calls
//! authentic is remembered.

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
mod options;
pub mod own_fault;
mod permits;
mod plan;
mod questions;
mod range;
mod renewal;
mod requests;
#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod silence;
mod store;
mod tls;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tls_loopback;
mod wallets;

pub use self::blocking::{BlockingFetcher, UnderWay};
pub use self::decide::NotDecided;
pub use self::egress::{Answer, Body, Egress, EgressError, Post, Room, has_usual_port};
pub use self::fetch::{Fetcher, NotAsked, Outcomes};
pub use self::flights::{Allowance, Asked};
pub use self::options::FetchOptions;
pub use self::questions::Questions;
pub use self::range::Cidr;
pub use self::renewal::Renewals;
pub use self::store::{Committed, Store};
pub use self::tls::UnusableRoots;
pub use self::wallets::Wallets;
#[cfg(feature = "tower")]
pub use self::wallets::WalletsService;
pub use idgate_core::verify::Scope;
