//! JOSE: compact JWS (RFC 7515) and compact JWE (RFC 7516). It reads what arrives and leaves the
//! choice of keys and of algorithms to the caller, who takes both from the trusted key, or from what
//! the request offered.

mod header;
mod jwe;
mod jws;
mod x5c;

pub(crate) use self::header::{Header, typ_is};
pub use self::jwe::{JweRecipient, OpenedJwe};
pub(crate) use self::jws::{CompactJws, decode_signature};
pub(crate) use self::x5c::{X5cError, x5c};
