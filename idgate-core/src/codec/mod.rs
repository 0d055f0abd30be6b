//! Strict codecs: what re-encodes differently is refused.

pub mod base64url;
pub mod cbor;
pub(crate) mod der;
mod duplicates;
pub mod form;
pub mod json;
pub(crate) mod origin;
