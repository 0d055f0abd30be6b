//! How to use the parts of this crate together. These pages contain no API.

pub mod defaults;
pub mod embedding;
pub mod howto;
pub mod interop;
pub mod threats;
