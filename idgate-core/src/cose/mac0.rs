//! COSE_Mac0: one MAC (RFC 9052 6.2).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::sign1::{authenticated, four, read_payload};
use super::{CoseError, Headers};
use crate::codec::cbor::Value;

/// The optional tag of a COSE_Mac0.
const TAG: u64 = 17;

/// HMAC 256/256 (RFC 9053 3.1): SHA-256, a tag of 32 bytes.
pub(crate) const HMAC_256: i64 = 5;

/// A COSE_Mac0, read but not verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Mac0<'t, 'a> {
    /// Both header buckets.
    pub(crate) headers: Headers<'t, 'a>,
    /// `None`: detached.
    pub(crate) payload: Option<Cow<'a, [u8]>>,
    /// The MAC.
    pub(crate) tag: Cow<'a, [u8]>,
}

impl<'t, 'a> Mac0<'t, 'a> {
    /// Reads the array of four, with or without tag 17.
    ///
    /// # Errors
    /// The value has another structure, or its headers cannot be used.
    pub(crate) fn read(value: Value<'t, 'a>) -> Result<Self, CoseError> {
        let [protected, unprotected, payload, tag] = four(value, TAG)?;
        Ok(Self {
            headers: Headers::read(protected, unprotected)?,
            payload: read_payload(payload)?,
            tag: tag.as_bytes().ok_or(CoseError("the MAC is not a byte string"))?,
        })
    }

    /// The authenticated bytes: the MAC_structure (RFC 9052 6.3) over `payload`, without external
    /// data.
    pub(crate) fn mac_structure(&self, payload: &[u8]) -> Vec<u8> {
        authenticated("MAC0", self.headers.protected(), payload)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::codec::cbor::Tape;

    #[test]
    fn reads_with_and_without_its_tag_and_writes_the_mac_structure() {
        for bytes in
            [&b"\x84\x43\xa1\x01\x05\xa0\xf6\x41T"[..], b"\xd1\x84\x43\xa1\x01\x05\xa0\xf6\x41T"]
        {
            let mut tape = Tape::default();
            let id = tape.parse(bytes).unwrap();
            let mac0 = Mac0::read(tape.value(id)).unwrap();
            assert_eq!(mac0.headers.alg(), Some(HMAC_256));
            assert_eq!((mac0.payload.is_none(), &*mac0.tag), (true, &b"T"[..]));
            assert_eq!(mac0.mac_structure(b"P"), b"\x84\x64MAC0\x43\xa1\x01\x05\x40\x41P");
        }
    }

    #[test]
    fn a_signature_structure_is_not_a_mac() {
        for bad in
            [&b"\xd2\x84\x43\xa1\x01\x05\xa0\xf6\x41T"[..], b"\x84\x43\xa1\x01\x05\xa0\xf6\xf6"]
        {
            let mut tape = Tape::default();
            let id = tape.parse(bad).unwrap();
            assert!(Mac0::read(tape.value(id)).is_err());
        }
    }
}
