//! The parts that an embedder supplies: the time, random bytes, and a store. The programs are in `src/bin`.

mod store;
pub mod wallet;

use std::time::{SystemTime, UNIX_EPOCH};

pub use idgate_core::OsEntropy;
use idgate_core::UnixMillis;

pub use self::store::Memory;

/// The public key of the sample issuer of this repository.
pub fn sample_jwk() -> String {
    idgate_testkit::samples::issuer_key(idgate_testkit::keys::Curve::P256).public_jwk().to_string()
}

/// The operating system's clock.
#[allow(clippy::disallowed_methods)] // the embedder's side of "time is an argument"
pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The page about Rust. Its programs compile as documentation tests, and run if they need no input.
#[cfg(doctest)]
#[doc = include_str!("../../docs/rust.md")]
mod page {}
