//! The gateway's background work, and its outgoing connections.

pub mod certificate_watch;
pub mod checkpoints;
pub mod delivery;
pub mod list_refresh;
pub mod spans;
pub mod status_renewal;
pub(crate) mod stop;
pub mod supervisor;
pub mod sweeper;
mod ticks;
mod way_out;
pub mod webhook_url;

pub use self::way_out::way_out;
