//! What a reader of one function cannot see: how the parts are meant to be used together, and what
//! that is worth. There is no code in here.

pub mod defaults;
pub mod embedding;
pub mod howto;
pub mod interop;
pub mod threats;
