//! Compact JWS (RFC 7515 7.1): three parts of text, split and checked without copying. JSON
//! serializations are not supported, so there is never an unprotected header.

use core::fmt;

use crate::codec::base64url;
use crate::limits::MAX_JWS_SIGNATURE_BYTES;

const MAX_SIGNATURE_CHARS: usize = MAX_JWS_SIGNATURE_BYTES.div_ceil(3) * 4;

/// The parts of a compact JWS, as received.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub(crate) struct CompactJws<'a> {
    /// The protected header in base64url.
    pub(crate) header: &'a str,
    /// The payload in base64url.
    pub(crate) payload: &'a str,
    /// The signature in base64url.
    pub(crate) signature: &'a str,
    /// The signed text: header, dot, payload (RFC 7515 5.2).
    pub(crate) signing_input: &'a str,
}

/// The error for text that is not a compact JWS: three non-empty parts of base64url characters,
/// separated by dots.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub(crate) struct JoseError;

impl fmt::Display for JoseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not three non-empty base64url parts separated by dots")
    }
}

impl core::error::Error for JoseError {}

impl<'a> CompactJws<'a> {
    /// Splits `text` in linear time. Each part is checked fully only when it is decoded.
    ///
    /// # Errors
    /// The text is not a compact JWS.
    pub(crate) fn split(text: &'a str) -> Result<Self, JoseError> {
        let (signing_input, signature) = text.rsplit_once('.').ok_or(JoseError)?;
        let (header, payload) = signing_input.split_once('.').ok_or(JoseError)?;
        // A further dot is in `payload` now, and outside the alphabet.
        if [header, payload, signature].into_iter().all(base64url::is_alphabet) {
            Ok(Self { header, payload, signature, signing_input })
        } else {
            Err(JoseError)
        }
    }
}

impl fmt::Debug for CompactJws<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompactJws")
    }
}

/// Decodes a signature into `out`; `None` if the text is not strict base64url or is longer than any
/// signature. The length is checked before decoding.
pub(crate) fn decode_signature<'o>(
    text: &str,
    out: &'o mut [u8; MAX_JWS_SIGNATURE_BYTES],
) -> Option<&'o [u8]> {
    if text.len() > MAX_SIGNATURE_CHARS {
        return None;
    }
    base64url::decode_into(text, out).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn splits_three_parts() {
        let jws = CompactJws::split("aA-_.bB09.cC").unwrap();
        assert_eq!((jws.header, jws.payload, jws.signature), ("aA-_", "bB09", "cC"));
        assert_eq!(jws.signing_input, "aA-_.bB09");
    }

    #[test]
    fn refuses_another_number_of_parts() {
        // The last is a JWE.
        for text in ["", "a", "a.b", "a.b.c.d", "a.b.c.d.e"] {
            assert_eq!(CompactJws::split(text).err(), Some(JoseError), "{text}");
        }
    }

    #[test]
    fn refuses_empty_parts() {
        for text in [".", "..", "a..", ".b.", "..c", "a.b.", "a..c", ".b.c", "...", "a.b.c."] {
            assert_eq!(CompactJws::split(text).err(), Some(JoseError), "{text}");
        }
    }

    #[test]
    fn refuses_characters_outside_the_alphabet() {
        for bad in ["=", "+", "/", " ", "\n", "~", "\0", "é", ",", "{"] {
            for text in [format!("a{bad}.b.c"), format!("a.b{bad}.c"), format!("a.b.c{bad}")] {
                assert_eq!(CompactJws::split(&text).err(), Some(JoseError), "{text}");
            }
        }
        assert!(CompactJws::split(r#"{"payload":"a","signatures":[]}"#).is_err());
    }

    #[test]
    fn refuses_a_mebibyte_of_dots() {
        for flood in [".", "a.", ".a"] {
            assert_eq!(CompactJws::split(&flood.repeat(1 << 20)).err(), Some(JoseError));
        }
    }

    #[test]
    fn decodes_signatures_of_every_curve() {
        let mut out = [0; MAX_JWS_SIGNATURE_BYTES];
        for len in [64, 96, 132] {
            let text = base64url::encode(&[7; MAX_JWS_SIGNATURE_BYTES][..len]);
            assert_eq!(decode_signature(&text, &mut out).map(<[u8]>::len), Some(len));
        }
    }

    #[test]
    fn refuses_signatures_longer_than_any() {
        let mut out = [0; MAX_JWS_SIGNATURE_BYTES];
        let text = base64url::encode(&[7; MAX_JWS_SIGNATURE_BYTES + 1]);
        assert_eq!(decode_signature(&text, &mut out), None);
        assert_eq!(decode_signature(&"A".repeat(21_830), &mut out), None);
        assert_eq!(out, [0; MAX_JWS_SIGNATURE_BYTES], "nothing was decoded");
    }

    #[test]
    fn refuses_signatures_that_are_not_strict_base64url() {
        let mut out = [0; MAX_JWS_SIGNATURE_BYTES];
        for text in ["A", "QR", "QQ==", "Q Q", "Q+", "é"] {
            assert_eq!(decode_signature(text, &mut out), None, "{text}");
        }
    }
}
