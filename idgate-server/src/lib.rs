//! The parts of the gateway. This library is for the binary and its tests; it is not an API.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // not an API, see above

#[cfg(not(unix))]
compile_error!(
    "idgate-server runs on Unix only: Linux, or WSL on Windows; \
     idgate-core, idgate and idgate-ffi build for Windows too"
);

mod accent;
pub mod admin;
pub mod app;
pub mod config;
mod descriptors;
mod digest;
pub mod failure;
pub mod http;
mod limits;
pub mod log;
pub mod openapi;
mod panics;
pub mod serve;
mod service_manager;
pub mod stdio;
pub mod work;
