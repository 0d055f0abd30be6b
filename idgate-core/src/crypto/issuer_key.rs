//! Keys in certificates that sign certificates, CRLs and lists.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::curve_parameters::{CurveError, NamedCurve};
use crate::codec::der::{self, Reader};
use crate::crypto::certificate_keys::{BrainpoolKey, RsaKey};
use crate::crypto::key::{Curve, PublicKey};

/// The public key of a certificate.
#[derive(Clone, Debug)]
pub(crate) enum IssuerKey {
    /// P-256, P-384 or P-521
    Nist(PublicKey),
    Brainpool(BrainpoolKey),
    Rsa {
        key: RsaKey,
        /// The key is only for RSASSA-PSS signatures (RFC 4055 1.2).
        pss_only: bool,
    },
}

/// The error for a certificate's key that cannot be used; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct UnusableKey(pub(crate) &'static str);

impl fmt::Display for UnusableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key {}", self.0)
    }
}

const MALFORMED: UnusableKey = UnusableKey("is malformed");
const UNKNOWN_KIND: UnusableKey = UnusableKey("is neither RSA nor ECDSA");
const UNKNOWN_CURVE: UnusableKey = UnusableKey("is on an unknown curve");
const BAD_POINT: UnusableKey = UnusableKey("is not an uncompressed point on its curve");
const BAD_RSA: UnusableKey = UnusableKey("is not an RSA key of 2048 to 8192 bits");

impl IssuerKey {
    /// Reads SubjectPublicKeyInfo (RFC 5280 4.1.2.7). The provider checks that a point is on a NIST
    /// curve when it verifies.
    ///
    /// # Errors
    /// The bytes are malformed, or the kind or curve of the key is not supported.
    pub(crate) fn from_spki(spki: &[u8]) -> Result<Self, UnusableKey> {
        let mut spki = Reader::within(spki, der::SEQUENCE).ok_or(MALFORMED)?;
        let algorithm = spki.element(der::SEQUENCE).ok_or(MALFORMED)?.content;
        let bits = spki.element(der::BIT_STRING).ok_or(MALFORMED)?.content;
        let bits = der::whole_bytes(bits).ok_or(MALFORMED)?;
        let mut algorithm = Reader::new(algorithm);
        let oid = algorithm.element(der::OID).ok_or(MALFORMED)?.content;
        match oid {
            EC_PUBLIC_KEY => {
                let parameters = algorithm.next().ok_or(MALFORMED)?.raw;
                elliptic(NamedCurve::from_parameters(parameters)?, bits)
            }
            RSA_ENCRYPTION => Ok(Self::Rsa { key: rsa_key(bits)?, pss_only: false }),
            RSASSA_PSS => Ok(Self::Rsa { key: rsa_key(bits)?, pss_only: true }),
            _ => Err(UNKNOWN_KIND),
        }
    }

    /// The key, if credentials may be signed with this kind of key.
    pub(crate) fn nist(&self) -> Option<&PublicKey> {
        match self {
            Self::Nist(key) => Some(key),
            _ => None,
        }
    }

    /// The kind of the key for people, for example `RSA 4096`.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Nist(key) => key.curve().name().into(),
            Self::Brainpool(key) => key.curve().into(),
            Self::Rsa { key, .. } => format!("RSA {}", key.bits()),
        }
    }
}

/// 1.2.840.10045.2.1
const EC_PUBLIC_KEY: &[u8] = b"\x2a\x86\x48\xce\x3d\x02\x01";
/// 1.2.840.113549.1.1.1
const RSA_ENCRYPTION: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
/// 1.2.840.113549.1.1.10
const RSASSA_PSS: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a";

impl From<CurveError> for UnusableKey {
    fn from(error: CurveError) -> Self {
        match error {
            CurveError::Malformed => MALFORMED,
            CurveError::Unknown => UNKNOWN_CURVE,
            CurveError::Unsupported(why) => Self(why),
        }
    }
}

fn elliptic(curve: NamedCurve, point: &[u8]) -> Result<IssuerKey, UnusableKey> {
    if point.first() != Some(&4) {
        return Err(BAD_POINT);
    }
    match curve {
        NamedCurve::P256 => nist(Curve::P256, point),
        NamedCurve::P384 => nist(Curve::P384, point),
        NamedCurve::P521 => nist(Curve::P521, point),
        NamedCurve::BrainpoolP256r1 => {
            BrainpoolKey::p256r1(point).map(IssuerKey::Brainpool).ok_or(BAD_POINT)
        }
        NamedCurve::BrainpoolP384r1 => {
            BrainpoolKey::p384r1(point).map(IssuerKey::Brainpool).ok_or(BAD_POINT)
        }
        NamedCurve::BrainpoolP512r1 => {
            BrainpoolKey::p512r1(point).map(IssuerKey::Brainpool).ok_or(BAD_POINT)
        }
    }
}

fn nist(curve: Curve, point: &[u8]) -> Result<IssuerKey, UnusableKey> {
    let coordinates = point.get(1..).and_then(|xy| xy.split_at_checked(curve.coordinate_len()));
    let (x, y) = coordinates.ok_or(BAD_POINT)?;
    PublicKey::from_coordinates(curve, x, y).map(IssuerKey::Nist).map_err(|_| BAD_POINT)
}

/// RSAPublicKey (RFC 8017 A.1.1).
fn rsa_key(bits: &[u8]) -> Result<RsaKey, UnusableKey> {
    let mut key = Reader::within(bits, der::SEQUENCE).ok_or(MALFORMED)?;
    let (n, e) = (key.unsigned().ok_or(MALFORMED)?, key.unsigned().ok_or(MALFORMED)?);
    RsaKey::new(n, e).ok_or(BAD_RSA)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use idgate_testkit::der::{bit_string, oid, sequence, unsigned};
    use idgate_testkit::keys::{Curve as SampleCurve, SigningKey};

    use super::*;

    fn spki(algorithm: &[u8], bits: &[u8]) -> Vec<u8> {
        sequence(&[algorithm, &bit_string(bits)])
    }

    fn rsa(kind: &str, bits: usize, exponent: &[u8]) -> Result<IssuerKey, UnusableKey> {
        let mut modulus = vec![0xff; bits / 8];
        if !bits.is_multiple_of(8) {
            modulus.insert(0, 1);
        }
        let algorithm = sequence(&[&oid(kind), &[5, 0]]);
        let key = sequence(&[&unsigned(&modulus), &unsigned(exponent)]);
        IssuerKey::from_spki(&spki(&algorithm, &key))
    }

    const PKCS1: &str = "1.2.840.113549.1.1.1";
    const PSS: &str = "1.2.840.113549.1.1.10";

    #[test]
    fn named_curves_are_read() {
        for curve in SampleCurve::ALL {
            let key = SigningKey::from_seed(curve, "issuer key");
            let read = IssuerKey::from_spki(&key.public_spki()).unwrap();
            assert_eq!(read.nist().unwrap().sec1(), key.public_sec1());
            assert_eq!(read.kind(), curve.name());
        }
    }

    #[test]
    fn rsa_keys_have_2048_to_8192_bits_and_a_sane_exponent() {
        for bits in [2048, 3072, 4096, 6144, 8192] {
            assert_eq!(rsa(PKCS1, bits, &[1, 0, 1]).unwrap().kind(), format!("RSA {bits}"));
        }
        for bits in [512, 1024, 2040, 8193, 16_384] {
            assert_eq!(rsa(PKCS1, bits, &[1, 0, 1]).err(), Some(BAD_RSA), "{bits}");
        }
        for exponent in [&[][..], &[1], &[2], &[0xff; 8], &[1, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(rsa(PKCS1, 2048, exponent).err(), Some(BAD_RSA), "{exponent:?}");
        }
        assert!(matches!(rsa(PSS, 2048, &[3]), Ok(IssuerKey::Rsa { pss_only: true, .. })));
        assert!(matches!(rsa(PKCS1, 2048, &[3]), Ok(IssuerKey::Rsa { pss_only: false, .. })));
    }

    #[test]
    fn other_kinds_curves_and_points_are_refused() {
        let ec = |curve: &str, point: &[u8]| {
            let algorithm = sequence(&[&oid("1.2.840.10045.2.1"), &oid(curve)]);
            IssuerKey::from_spki(&spki(&algorithm, point)).err()
        };
        let point = SigningKey::from_seed(SampleCurve::P256, "point").public_sec1();
        let p256 = "1.2.840.10045.3.1.7";
        assert_eq!(ec(p256, &point), None);
        assert_eq!(ec("1.3.132.0.10", &point), Some(UNKNOWN_CURVE));
        assert_eq!(ec("1.3.132.0.34", &point), Some(BAD_POINT));
        assert_eq!(ec("1.3.36.3.3.2.8.1.1.7", &point), Some(BAD_POINT));
        assert_eq!(ec("1.3.36.3.3.2.8.1.1.13", &point), Some(BAD_POINT));
        assert_eq!(ec("1.3.36.3.3.2.8.1.1.9", &point), Some(UnusableKey("is on brainpoolP320r1")));
        assert_eq!(ec(p256, &[&point[..], &[0]].concat()), Some(BAD_POINT));
        let compressed = [&[2], point.get(1..33).unwrap()].concat();
        assert_eq!(ec(p256, &compressed), Some(BAD_POINT));
        assert_eq!(ec(p256, &[0]), Some(BAD_POINT));
        assert_eq!(ec(p256, &[]), Some(BAD_POINT));
        let ed25519 = spki(&sequence(&[&oid("1.3.101.112")]), &[7; 32]);
        assert_eq!(IssuerKey::from_spki(&ed25519).err(), Some(UNKNOWN_KIND));
    }

    #[test]
    fn damaged_keys_are_refused_and_never_panic() {
        let whole = SigningKey::from_seed(SampleCurve::P256, "damage").public_spki();
        for len in 0..whole.len() {
            assert!(IssuerKey::from_spki(whole.get(..len).unwrap()).is_err());
        }
        let key = sequence(&[&unsigned(&[0xff; 256])]);
        let algorithm = sequence(&[&oid(PKCS1)]);
        assert_eq!(IssuerKey::from_spki(&spki(&algorithm, &key)).err(), Some(MALFORMED));
        assert_eq!(IssuerKey::from_spki(&spki(&algorithm, &[])).err(), Some(MALFORMED));
    }
}
