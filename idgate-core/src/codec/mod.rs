//! Strict codecs: what re-encodes differently is refused.

pub mod base64url;
pub(crate) mod cbor;
pub(crate) mod der;
mod duplicates;
pub mod form;
pub(crate) mod hex;
pub mod json;
pub(crate) mod origin;

#[cfg(feature = "internals")]
pub use self::cbor::is_strict as is_strict_cbor;
