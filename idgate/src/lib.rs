//! Verify credentials from wallets in your own service. `idgate-core` decides and does no I/O; this
//! crate does the I/O around it.
//!
//! - [`Wallets`]: serves the routes of OpenID4VP that wallets use, with `http` types. With the
//!   feature `tower` it is a service for axum and similar frameworks.
//! - [`Fetcher`]: takes a verification to its stored decision, or verifies one presentation. It
//!   fetches the status lists and CRLs that it needs.
//! - [`Store`]: the trait for your database.
//! - [`BlockingFetcher`]: for programs without an async runtime.
//!
//! The addresses of status lists come from strangers, so outgoing requests are restricted:
//!
//! - A name is resolved once. Each of its addresses must be public or in an allowed range, and the
//!   connection goes to one of these addresses.
//! - At most three redirects are followed, only for requests that expect a body, and each address
//!   is checked like the first one. A redirect must not lead from a public address to one that is
//!   merely allowed, nor from https to http.
//! - Proxies from the environment are not used, and connections are not reused.
//! - A compressed body (`gzip`) is inflated as it arrives, up to its limit.
//! - Sizes, times, and the parallel fetches for one host, for one issuer and in total are limited.
//!
//! ```text
//!  Need ──> Fetcher (caches, fetches once for all) ──> Egress (checks, pins, limits) ──> socket
//! ```
//!
//! The library checks each body: every body goes through [`idgate_core::Verification`], and only
//! authentic bodies are cached.

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
