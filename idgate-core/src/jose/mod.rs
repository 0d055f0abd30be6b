//! JOSE: compact JWS (RFC 7515) and compact JWE (RFC 7516). It parses, and leaves the choice of
//! keys and algorithms to the caller, which takes them from the trusted key or from the request's
//! offer.

mod header;
mod jwe;
mod jws;
mod x5c;

pub(crate) use self::header::{Header, typ_is};
pub use self::jwe::{JweRecipient, OpenedJwe};
pub(crate) use self::jws::{CompactJws, decode_signature};
pub(crate) use self::x5c::{X5cError, x5c};
