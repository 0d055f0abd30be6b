//! The base of all crates of the gateway: clock, entropy, rate limits, spans, metrics, and the
//! formats of keys and tokens.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // internal crate

pub mod admin_token;
pub mod api_key;
mod checksummed;
pub mod clock;
pub mod entropy;
mod limits;
pub mod rate_limit;
pub mod spans;
pub mod task;
pub mod telemetry;
