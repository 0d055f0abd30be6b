//! idgate-core and independent implementations of SD-JWT, mdoc, X.509, JWE and did:web, in one build
//! with the `serde_json` features that these force on all crates.
//!
//! sd-jwt-rs 0.7.1 and isomdl 0.2.0 issue, hold and verify here, certval 0.2.0-rc.1 validates
//! certificate paths, josekit 0.10.3 encrypts and decrypts, ssi's did-web 0.5.1 resolves. They are
//! peers, not authorities: where one disagrees, `tests/divergences.rs`,
//! `tests/mdoc_divergences.rs` and `tests/chain_divergences.json` say why.

pub mod chain_peer;
pub mod gate;
pub mod mdoc_gate;
pub mod mdoc_peer;
pub mod peer;

/// The verifier's `client_id` in every case.
pub const AUDIENCE: &str = "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_interop";
/// The `response_uri` in every case.
pub const RESPONSE_URI: &str = "https://gateway.example/v1/oid4vp/response/ses_interop";
/// The request's nonce in every case.
pub const NONCE: &str = "n-interop-0123456789";
/// The issuer in every case.
pub const ISSUER: &str = "https://issuer.example";
/// The credential type in every case.
pub const VCT: &str = "urn:example:identity:1";

/// Seconds since 1970. The peer reads the system clock, so these tests use the current time.
#[allow(clippy::disallowed_methods, reason = "the peer cannot be given a time")]
pub fn now_secs() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// The example in README.md compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
