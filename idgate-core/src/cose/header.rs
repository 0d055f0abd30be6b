//! The headers of a COSE message (RFC 9052 3), protected and unprotected.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::CoseError;
use crate::codec::cbor::{Tape, Value};
use crate::crypto::Alg;

/// Header labels (RFC 9052 3.1, RFC 9360 2).
const ALG: i64 = 1;
const CRIT: i64 = 2;
const X5CHAIN: i64 = 33;

/// Both header buckets of a message. Unknown labels are ignored, and so are values of `undefined`,
/// which wallets write.
#[derive(Clone, Debug)]
pub(crate) struct Headers<'t, 'a> {
    protected: Cow<'a, [u8]>,
    alg: Option<i64>,
    unprotected: Value<'t, 'a>,
}

impl<'t, 'a> Headers<'t, 'a> {
    /// Reads the first two elements of a message.
    ///
    /// # Errors
    /// A bucket is not a map, `alg` is outside the protected one, or `crit` requires a header.
    pub(super) fn read(
        protected: Value<'t, 'a>,
        unprotected: Value<'t, 'a>,
    ) -> Result<Self, CoseError> {
        let protected =
            protected.as_bytes().ok_or(CoseError("the protected header is not a byte string"))?;
        if unprotected.entries().is_none() {
            return Err(CoseError("the unprotected header is not a map"));
        }
        if unprotected.get_label(ALG).is_some() {
            return Err(CoseError("alg is in the unprotected header"));
        }
        let alg = read_protected(&protected)?;
        Ok(Self { protected, alg, unprotected })
    }

    /// The protected header as it was signed.
    pub(crate) fn protected(&self) -> &[u8] {
        &self.protected
    }

    /// `alg`, if it is an integer.
    pub(crate) fn alg(&self) -> Option<i64> {
        self.alg
    }

    /// `x5chain` of the unprotected header, leaf first (RFC 9360 2): one byte string, or an array
    /// of several.
    ///
    /// # Errors
    /// There is none, or it contains something other than certificates.
    pub(crate) fn x5chain(&self) -> Result<Vec<Cow<'a, [u8]>>, CoseError> {
        const BAD: CoseError = CoseError("x5chain is neither a byte string nor an array of them");
        let chain = self.unprotected.get_label(X5CHAIN);
        let chain = chain.ok_or(CoseError("there is no x5chain in the unprotected header"))?;
        if let Some(only) = chain.as_bytes() {
            return Ok(Vec::from([only]));
        }
        let certificates: Option<Vec<_>> =
            chain.elements().ok_or(BAD)?.map(Value::as_bytes).collect();
        certificates.filter(|chain| !chain.is_empty()).ok_or(BAD)
    }
}

/// `alg` of a protected header: a map in a byte string, or an empty byte string.
fn read_protected(bytes: &[u8]) -> Result<Option<i64>, CoseError> {
    // Nearly every header is {1: -7} or {1: 5}.
    match bytes {
        [] => return Ok(None),
        [0xa1, 0x01, alg @ 0x00..=0x17] => return Ok(Some(i64::from(*alg))),
        [0xa1, 0x01, alg @ 0x20..=0x37] => return Ok(Some(-1 - i64::from(*alg - 0x20))),
        _ => {}
    }
    let mut tape = Tape::with_room_for(bytes.len());
    let header = tape.parse(bytes).map_err(|_| CoseError("the protected header is not CBOR"))?;
    let header = tape.value(header);
    if header.entries().is_none() {
        return Err(CoseError("the protected header is not a map"));
    }
    if header.get_label(CRIT).is_some() {
        return Err(CoseError("crit names a header that is not supported"));
    }
    Ok(header.get_label(ALG).and_then(Value::as_i64))
}

/// The algorithm of a COSE label, as registered by RFC 9053 2.1 (-7, -35, -36) and, with a fixed
/// curve, by RFC 9864 2.1 (-9, -51, -52). For an ECDSA label without a curve, 18013-5 table 22
/// gives the curve.
pub(crate) fn alg_of_label(label: i64) -> Option<Alg> {
    match label {
        -7 | -9 => Some(Alg::Es256),
        -35 | -51 => Some(Alg::Es384),
        -36 | -52 => Some(Alg::Es512),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read<'t, 'a>(tape: &'t mut Tape<'a>, pair: &'a [u8]) -> Result<Headers<'t, 'a>, CoseError> {
        let id = tape.parse(pair).unwrap();
        let mut parts = tape.value(id).elements().unwrap();
        Headers::read(parts.next().unwrap(), parts.next().unwrap())
    }

    fn alg(pair: &[u8]) -> Result<Option<i64>, CoseError> {
        read(&mut Tape::default(), pair).map(|headers| headers.alg())
    }

    #[test]
    fn alg_must_be_in_the_protected_header() {
        assert_eq!(alg(b"\x82\x43\xa1\x01\x26\xa0"), Ok(Some(-7)));
        assert_eq!(alg(b"\x82\x43\xa1\x01\x05\xa0"), Ok(Some(5)));
        assert_eq!(alg(b"\x82\x44\xa1\x01\x38\x22\xa0"), Ok(Some(-35)));
        assert_eq!(alg(b"\x82\x47\xa2\x04\x41\x01\x01\x38\x23\xa0"), Ok(Some(-36)));
        assert_eq!(alg(b"\x82\x40\xa0"), Ok(None));
        assert_eq!(alg(b"\x82\x41\xa0\xa0"), Ok(None));
        assert_eq!(alg(b"\x82\x48\xa1\x01\x65ES256\xa0"), Ok(None));
        assert!(alg(b"\x82\x43\xa1\x01\x26\xa1\x01\x26").is_err());
        assert!(alg(b"\x82\x40\xa1\x01\x26").is_err());
    }

    #[test]
    fn unknown_and_undefined_headers_are_ignored() {
        assert_eq!(alg(b"\x82\x43\xa1\x01\x26\xa2\x04\xf7\x61x\x01"), Ok(Some(-7)));
    }

    #[test]
    fn crit_and_headers_that_are_not_maps_are_refused() {
        for bad in [
            &b"\x82\x47\xa2\x01\x26\x02\x81\x18\x63\xa0"[..],
            b"\x82\x41\x80\xa0",
            b"\x82\x41\xff\xa0",
            b"\x82\x45\xa2\x01\x26\x01\x26\xa0",
            b"\x82\xa0\xa0",
            b"\x82\x43\xa1\x01\x26\x80",
        ] {
            assert!(alg(bad).is_err(), "{bad:02x?}");
        }
    }

    #[test]
    fn x5chain_is_one_certificate_or_several() {
        let mut tape = Tape::default();
        let one = read(&mut tape, b"\x82\x40\xa1\x18\x21\x41A").unwrap();
        assert_eq!(one.x5chain().unwrap(), [&b"A"[..]]);
        let mut tape = Tape::default();
        let two = read(&mut tape, b"\x82\x40\xa1\x18\x21\x82\x41A\x41B").unwrap();
        assert_eq!(two.x5chain().unwrap(), [&b"A"[..], b"B"]);
        for bad in
            [&b"\x82\x40\xa0"[..], b"\x82\x40\xa1\x18\x21\x80", b"\x82\x40\xa1\x18\x21\x81\x01"]
        {
            let mut tape = Tape::default();
            assert!(read(&mut tape, bad).unwrap().x5chain().is_err(), "{bad:02x?}");
        }
    }

    #[test]
    fn labels_of_drafts_and_other_algorithms_are_unknown() {
        assert_eq!(alg_of_label(-51), Some(Alg::Es384));
        for label in [-8, -16, -37, -38, -39, -47, -48, -49, -50, -53, 0, 5, 7, i64::MIN] {
            assert_eq!(alg_of_label(label), None, "{label}");
        }
    }
}
