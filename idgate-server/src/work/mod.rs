//! What the gateway does on its own, beside requests, and what it asks of others.

mod address;
mod cache;
pub mod certificate_watch;
pub mod checkpoints;
pub mod delivery;
pub mod egress;
pub mod fetch;
mod flights;
pub mod list_refresh;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod loopback;
mod permits;
mod retention;
pub mod supervisor;
pub mod sweeper;
mod tls;
pub mod webhook_url;
