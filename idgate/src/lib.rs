//! Verify wallets' answers in your own service. `idgate-core` decides and does no IO; this crate
//! does the IO around it.
//!
//! - [`Wallets`]: serves the OpenID4VP routes that wallets use, with `http` types; with the feature
//!   `tower` it is a service for axum and others.
//! - [`Fetcher`]: takes a verification to its stored decision, or verifies one presentation, and
//!   fetches the status lists and CRLs that it needs.
//! - [`Store`]: the trait for your database.
//! - [`BlockingFetcher`]: for programs without a runtime.
//!
//! The addresses of status lists come from untrusted parties, so outgoing connections are guarded:
//!
//! - A name is resolved once. Every address of it must be public or in an allowed range, and the
//!   connection goes to one of those addresses.
//! - Fetches follow at most three redirects, and each address is checked like the first one. No
//!   redirect leads from a public address to one that is only allowed, or from https to http.
//! - Proxies in the environment are not used, and connections are not reused.
//! - A compressed body (`gzip`) is inflated as it arrives, up to its limit.
//! - Sizes, times, and parallel fetches for one host, for one issuer and in total are limited.
//!
//! ```text
//!  Need ──> Fetcher (caches, fetches once for all callers) ──> Egress (checks, pins, limits) ──> socket
//! ```
//!
//! `idgate-core` verifies each body: everything goes through [`idgate_core::Verification`], and
//! only sources that it returns as authentic are cached.

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
