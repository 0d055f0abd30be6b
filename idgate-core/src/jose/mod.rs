//! JOSE: compact JWS (RFC 7515). It reads what arrives and leaves the choice of keys and of
//! algorithms to the caller, who takes both from the trusted key.

mod header;
mod jws;

pub use self::header::{Header, HeaderError, typ_is};
pub use self::jws::{CompactJws, JoseError, decode_signature};
