//! Every crate of the gateway uses this one: the clock, entropy, rate limits, spans and metrics, and the forms
//! of keys and tokens.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // no interface: the program is

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
