//! base64url without padding (RFC 4648 5), strict: no padding, no white space, no trailing bits.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::work;

/// Text that is not strict base64url.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct NotBase64Url;

/// Returns `bytes` as base64url.
pub fn encode(bytes: &[u8]) -> String {
    work::steps(4 + bytes.len());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Writes `bytes` as base64url into `out` and returns that text; `None` if `out` is too small.
pub fn encode_into<'o>(bytes: &[u8], out: &'o mut [u8]) -> Option<&'o str> {
    work::steps(4 + bytes.len());
    let len = URL_SAFE_NO_PAD.encode_slice(bytes, out).ok()?;
    core::str::from_utf8(out.get(..len)?).ok()
}

/// Decodes `text`.
///
/// # Errors
/// The text is not strict base64url.
pub fn decode(text: &str) -> Result<Vec<u8>, NotBase64Url> {
    work::steps(4 + text.len());
    URL_SAFE_NO_PAD.decode(text).map_err(|_| NotBase64Url)
}

/// Decodes `text` and appends the bytes to `out`.
///
/// # Errors
/// The text is not strict base64url; `out` may then hold a part of it.
pub fn decode_onto(text: &str, out: &mut Vec<u8>) -> Result<(), NotBase64Url> {
    work::steps(4 + text.len());
    URL_SAFE_NO_PAD.decode_vec(text, out).map_err(|_| NotBase64Url)
}

/// Decodes `text` into the front of `out` and returns those bytes.
///
/// # Errors
/// The text is not strict base64url, or `out` is too small; `out` may then hold a part of it.
pub fn decode_into<'o>(text: &str, out: &'o mut [u8]) -> Result<&'o [u8], NotBase64Url> {
    work::steps(4 + text.len());
    let len = URL_SAFE_NO_PAD.decode_slice(text, out).map_err(|_| NotBase64Url)?;
    out.get(..len).ok_or(NotBase64Url)
}

/// Whether `text` is not empty and has characters of the base64url alphabet only.
pub fn is_alphabet(text: &str) -> bool {
    work::steps(text.len() / 8);
    // No early exit, so that the loop vectorizes.
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() | (byte == b'-') | (byte == b'_');
    !text.is_empty() && text.bytes().fold(true, |all, byte| all & alphabet(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_text_that_would_encode_differently() {
        for bad in ["QQ==", "QR", "Q", "QQ\n", "Q Q", "QUI+", "QUI/", "é"] {
            assert_eq!(decode(bad), Err(NotBase64Url), "{bad}");
        }
        assert_eq!(decode("QQ").as_deref(), Ok(&b"A"[..]));
    }

    #[test]
    fn encodes_into_a_slice() {
        let mut out = [0; 43];
        assert_eq!(encode_into(&[0xff; 32], &mut out).map(str::len), Some(43));
        assert_eq!(encode_into(&[0xff; 33], &mut out), None);
    }

    #[test]
    fn decodes_into_a_slice_that_just_fits() {
        let mut out = [0; 32];
        assert_eq!(decode_into(&encode(&[7; 32]), &mut out), Ok(&[7; 32][..]));
        assert_eq!(decode_into(&encode(&[7; 31]), &mut out), Ok(&[7; 31][..]));
        assert_eq!(decode_into(&encode(&[7; 33]), &mut out), Err(NotBase64Url));
        assert_eq!(decode_into("QR", &mut out), Err(NotBase64Url));
    }

    #[test]
    fn recognises_its_alphabet() {
        assert!(is_alphabet("azAZ09-_"));
        for bad in ["", "a.", "a=", "a+", "a/", "a ", "a~", "é"] {
            assert!(!is_alphabet(bad), "{bad}");
        }
    }
}
