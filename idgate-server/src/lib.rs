//! The pieces of the gateway. The binary is the interface; the library exists for it and its tests.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // no interface, see above

#[cfg(not(unix))]
compile_error!(
    "idgate-server runs on Unix only: Linux, or WSL on Windows; \
     idgate-core, idgate-fetch and idgate-ffi build for Windows too"
);

pub mod admin;
pub mod admin_token;
pub mod api_key;
pub mod app;
pub mod audit;
mod checksummed;
pub mod cli;
pub mod clock;
pub mod config;
#[cfg(feature = "sandbox")]
pub mod demo;
mod descriptors;
pub mod entropy;
pub mod failure;
pub mod gateway_key;
pub mod http;
mod limits;
pub mod log;
pub mod openapi;
mod panics;
mod rate_limit;
#[cfg(feature = "sandbox")]
pub mod sandbox;
pub mod seal;
pub mod serve;
mod service_manager;
pub mod sketch;
pub mod spans;
mod stdio;
pub mod store;
mod task;
pub mod telemetry;
pub mod work;
