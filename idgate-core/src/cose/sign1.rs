//! COSE_Sign1: one signer (RFC 9052 4.2).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{CoseError, Headers};
use crate::codec::cbor::{Value, Writer};
use crate::crypto::{RequestSigner, SignerUnavailable, sign_es256};

/// The optional tag of a COSE_Sign1.
const TAG: u64 = 18;
/// `{1: -7}`
const PROTECTED_ES256: &[u8] = &[0xa1, 0x01, 0x26];
/// RFC 9360 2.
const X5CHAIN: i8 = 33;

/// A COSE_Sign1, read but not verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Sign1<'t, 'a> {
    /// Both header buckets.
    pub(crate) headers: Headers<'t, 'a>,
    /// `None`: detached.
    pub(crate) payload: Option<Cow<'a, [u8]>>,
    /// Raw r‖s for ECDSA (RFC 9053 2.1).
    pub(crate) signature: Cow<'a, [u8]>,
}

impl<'t, 'a> Sign1<'t, 'a> {
    /// Reads the array of four, with or without tag 18.
    ///
    /// # Errors
    /// The value has another structure, or its headers cannot be used.
    pub(crate) fn read(value: Value<'t, 'a>) -> Result<Self, CoseError> {
        let [protected, unprotected, payload, signature] = four(value, TAG)?;
        Ok(Self {
            headers: Headers::read(protected, unprotected)?,
            payload: read_payload(payload)?,
            signature: signature
                .as_bytes()
                .ok_or(CoseError("the signature is not a byte string"))?,
        })
    }

    /// The signed bytes: the Sig_structure (RFC 9052 4.4) over `payload`, without external data.
    pub(crate) fn sig_structure(&self, payload: &[u8]) -> Vec<u8> {
        authenticated("Signature1", self.headers.protected(), payload)
    }
}

/// Signs a COSE_Sign1 with ES256. The payload is detached, and the signer's certificates are in
/// `x5chain` (RFC 9360 2).
///
/// # Errors
/// The key cannot be used now, or the result is not an ES256 signature.
pub(crate) fn sign_detached(
    signer: &dyn RequestSigner,
    payload: &[u8],
) -> Result<Vec<u8>, SignerUnavailable> {
    let signature = sign_es256(signer, &authenticated("Signature1", PROTECTED_ES256, payload))?;
    let message = Writer::default().array(4).bytes(PROTECTED_ES256).map(1).integer(X5CHAIN);
    let message = match signer.certificate_chain() {
        [only] => message.bytes(only),
        chain => {
            let message = message.array(chain.len());
            chain.iter().fold(message, |message, certificate| message.bytes(certificate))
        }
    };
    Ok(message.null().bytes(&signature).finish())
}

/// The four elements of a message.
pub(super) fn four<'t, 'a>(
    value: Value<'t, 'a>,
    tag: u64,
) -> Result<[Value<'t, 'a>; 4], CoseError> {
    const BAD: CoseError = CoseError("the COSE structure is not an array of four");
    let mut elements = value.tagged(tag).unwrap_or(value).elements().ok_or(BAD)?;
    let mut next = || elements.next().ok_or(BAD);
    let four = [next()?, next()?, next()?, next()?];
    if elements.next().is_some() { Err(BAD) } else { Ok(four) }
}

pub(super) fn read_payload<'a>(payload: Value<'_, 'a>) -> Result<Option<Cow<'a, [u8]>>, CoseError> {
    if payload.is_null() {
        return Ok(None);
    }
    payload.as_bytes().map(Some).ok_or(CoseError("the payload is neither a byte string nor null"))
}

/// `[context, protected, external_aad = h'', payload]`
pub(super) fn authenticated(context: &str, protected: &[u8], payload: &[u8]) -> Vec<u8> {
    Writer::with_capacity(32 + protected.len() + payload.len())
        .array(4)
        .text(context)
        .bytes(protected)
        .bytes(&[])
        .bytes(payload)
        .finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::codec::cbor::Tape;

    fn is_read(bytes: &[u8]) -> bool {
        let mut tape = Tape::default();
        let id = tape.parse(bytes).unwrap();
        Sign1::read(tape.value(id)).is_ok()
    }

    #[test]
    fn tag_18_is_optional_and_other_tags_are_refused() {
        assert!(is_read(b"\x84\x43\xa1\x01\x26\xa0\xf6\x41S"));
        assert!(is_read(b"\xd2\x84\x43\xa1\x01\x26\xa0\xf6\x41S"));
        assert!(!is_read(b"\xd1\x84\x43\xa1\x01\x26\xa0\xf6\x41S"));
        assert!(!is_read(b"\xd2\xd2\x84\x43\xa1\x01\x26\xa0\xf6\x41S"));
    }

    #[test]
    fn other_shapes_are_refused() {
        for bad in [
            &b"\x83\x40\xa0\xf6"[..],
            b"\x85\x40\xa0\xf6\x41S\xf6",
            b"\x84\x40\xa0\xf6\xf6",
            b"\x84\x40\xa0\xf6\x61S",
            b"\x84\x40\xa0\xf7\x41S",
            b"\x84\x40\xa0\x61p\x41S",
            b"\xa0",
            b"\x40",
        ] {
            assert!(!is_read(bad), "{bad:02x?}");
        }
    }

    /// RFC 9052 4.4.
    #[test]
    fn the_signed_bytes_are_those_of_the_standard() {
        let mut tape = Tape::default();
        let id = tape.parse(b"\x84\x43\xa1\x01\x26\xa0\x41P\x41S").unwrap();
        let sign1 = Sign1::read(tape.value(id)).unwrap();
        assert_eq!(sign1.payload.as_deref(), Some(&b"P"[..]));
        assert_eq!(sign1.sig_structure(b"P"), b"\x84\x6aSignature1\x43\xa1\x01\x26\x40\x41P");
    }
}
