//! COSE (RFC 9052, RFC 9053) as far as mdoc, VICAL and CWT need it: one signer, one MAC, EC2 keys.

mod header;
mod key;
mod mac0;
mod sign1;

use core::fmt;

pub(crate) use self::header::{Headers, alg_of_label};
pub(crate) use self::key::public_key;
pub(crate) use self::mac0::{HMAC_256, Mac0};
pub(crate) use self::sign1::{Sign1, sign_detached};

/// A COSE structure that cannot be used; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub(crate) struct CoseError(pub(crate) &'static str);

impl fmt::Display for CoseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for CoseError {}
