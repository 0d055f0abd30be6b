//! Strict codecs: input that would be encoded differently is refused.

pub mod base64url;
pub(crate) mod cbor;
pub(crate) mod der;
mod duplicates;
pub mod form;
pub(crate) mod hex;
pub mod json;
pub(crate) mod origin;
mod text;

#[cfg(feature = "internals")]
pub use self::cbor::is_strict as is_strict_cbor;
pub use self::origin::{HOST_NAME_RULE, is_host_name};
pub use self::text::is_bidi_control;
