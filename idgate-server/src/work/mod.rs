//! What the gateway does on its own, beside requests.

pub mod sweeper;
