//! idgate-core decides whether a wallet's answer is genuine. Bytes, time and entropy go in; a
//! verdict comes out. It starts nothing, waits for nothing, logs nothing.
//!
//! ```text
//!  wallet bytes ─┐                       ┌─> claims, only inside VerifiedCredential
//!  tenant JSON ──┼─> idgate-core  ───────┼─> Transition { from, session, effects }
//!  now, entropy ─┘   no IO, no clock,    │    (commit, then carry out)
//!                    no randomness       └─> a refusal with its code and clause
//! ```

#![warn(missing_docs)]

extern crate alloc;

pub mod codec;
pub mod cose;
pub mod crypto;
pub mod discovery;
pub mod entropy;
pub mod error;
pub mod formats;
pub mod ids;
pub mod jose;
pub mod limits;
pub mod request;
pub mod response;
pub mod session;
pub mod status;
pub mod time;
pub mod trust;
mod verifier;
pub mod verify;
pub mod webhook;

pub use self::error::{ErrorCode, Reason};
pub use self::request::PresentationRequest;
pub use self::session::Session;
pub use self::time::UnixMillis;
pub use self::trust::{TrustEntry, TrustSnapshot, TrustedKey};
pub use self::verifier::{Verifier, VerifierBuilder};
