//! COSE_Key of type EC2 (RFC 9053 7.1.1): public keys on the three curves. A compressed point (a
//! boolean `y`) is refused: 18013-5 9.1.5.2 requires both coordinates in a device key.

use super::{CoseError, alg_of_label};
use crate::codec::cbor::Value;
use crate::crypto::{Curve, PublicKey};

const KTY: i64 = 1;
const ALG: i64 = 3;
const CRV: i64 = -1;
const X: i64 = -2;
const Y: i64 = -3;
const D: i64 = -4;
const EC2: i64 = 2;

/// Reads the public key in a COSE_Key. Every use of the key checks that its point is on its curve.
///
/// # Errors
/// The key is private, of another type or curve, or its coordinates have a wrong length.
pub(crate) fn public_key(key: Value<'_, '_>) -> Result<PublicKey, CoseError> {
    if key.entries().is_none() {
        return Err(CoseError("the COSE_Key is not a map"));
    }
    if key.get_label(D).is_some() {
        return Err(CoseError("the COSE_Key holds a private key"));
    }
    let label = |name| key.get_label(name).and_then(Value::as_i64);
    if label(KTY) != Some(EC2) {
        return Err(CoseError("the COSE_Key is not an EC2 key"));
    }
    let curve = match label(CRV) {
        Some(1) => Curve::P256,
        Some(2) => Curve::P384,
        Some(3) => Curve::P521,
        _ => return Err(CoseError("the COSE_Key is not on P-256, P-384 or P-521")),
    };
    let restricted = key.get_label(ALG);
    if restricted.is_some() && label(ALG).and_then(alg_of_label) != Some(curve.alg()) {
        return Err(CoseError("alg of the COSE_Key does not fit its curve"));
    }
    let coordinate = |name| key.get_label(name).and_then(Value::as_bytes);
    let x = coordinate(X).ok_or(CoseError("x of the COSE_Key is not a byte string"))?;
    let y = coordinate(Y).ok_or(CoseError("y of the COSE_Key is not a byte string"))?;
    PublicKey::from_coordinates(curve, &x, &y)
        .map_err(|_| CoseError("a coordinate of the COSE_Key has a wrong length"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::codec::cbor::Tape;

    fn read(bytes: &[u8]) -> Result<PublicKey, CoseError> {
        let mut tape = Tape::default();
        let id = tape.parse(bytes).unwrap();
        public_key(tape.value(id))
    }

    /// `{1: 2, -1: crv, -2: x, -3: y}` with `more` entries.
    fn key(crv: u8, len: u8, more: &[u8]) -> Vec<u8> {
        let coordinate = [&[0x58, len][..], &[7].repeat(usize::from(len))].concat();
        let entries = 4 + u8::try_from(more.len() / 2).unwrap();
        let head = [0xa0 | entries, 1, 2, 0x20, crv, 0x21];
        [&head[..], &coordinate, &[0x22], &coordinate, more].concat()
    }

    #[test]
    fn reads_the_three_curves() {
        for (crv, len, curve) in [(1, 32, Curve::P256), (2, 48, Curve::P384), (3, 66, Curve::P521)]
        {
            let read = read(&key(crv, len, &[])).unwrap();
            assert_eq!(read.curve(), curve);
            assert_eq!(read.coordinates().0, [7].repeat(usize::from(len)));
        }
    }

    #[test]
    fn refuses_other_types_curves_and_lengths() {
        for (crv, len) in [(1, 31), (1, 33), (1, 48), (2, 32), (3, 65), (4, 32), (8, 32), (0, 32)] {
            assert!(read(&key(crv, len, &[])).is_err(), "{crv} {len}");
        }
        let mut okp = key(1, 32, &[]);
        okp[2] = 1;
        assert!(read(&okp).is_err());
        assert!(read(b"\x80").is_err());
        assert!(read(b"\xa0").is_err());
    }

    #[test]
    fn refuses_a_private_key() {
        assert!(read(&key(1, 32, &[0x23, 0x40])).unwrap_err().0.contains("private"));
        assert!(read(&key(1, 32, &[0x23, 0xf6])).is_err());
    }

    #[test]
    fn refuses_a_compressed_point() {
        let full = key(1, 32, &[]);
        let compressed = [&full[..full.len() - 34], &[0xf5]].concat();
        assert!(read(&compressed).unwrap_err().0.contains("y of"));
    }

    #[test]
    fn alg_must_fit_the_curve() {
        assert!(read(&key(1, 32, &[3, 0x26])).is_ok());
        assert!(read(&key(2, 48, &[3, 0x26])).is_err());
        assert!(read(&key(1, 32, &[3, 0xf6])).is_err());
    }
}
