//! How the parts of this crate are used together, and what a program gets from that. These pages
//! have no API of their own.

pub mod defaults;
pub mod embedding;
pub mod howto;
pub mod interop;
pub mod threats;
