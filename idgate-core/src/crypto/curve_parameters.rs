//! The curve of an EC key: by name (RFC 5480 2.1.1.1), or by explicit domain parameters that are
//! exactly those of a known curve (SEC 1 C.2, RFC 3279 2.3.5). Explicit parameters are never used
//! directly: an attacker who chooses the generator can forge signatures (CVE-2020-0601).

use crate::codec::der::{self, Reader, without_leading_zeros};

/// A curve of certificate keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NamedCurve {
    P256,
    P384,
    P521,
    BrainpoolP256r1,
    BrainpoolP384r1,
    BrainpoolP512r1,
}

/// The reason why a key's curve cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CurveError {
    Malformed,
    Unknown,
    /// A known curve that is not supported.
    Unsupported(&'static str),
}

impl NamedCurve {
    /// Reads the parameters of an id-ecPublicKey AlgorithmIdentifier.
    pub(super) fn from_parameters(parameters: &[u8]) -> Result<Self, CurveError> {
        let mut reader = Reader::new(parameters);
        let tlv = reader.next().filter(|_| reader.is_empty()).ok_or(CurveError::Malformed)?;
        match tlv.tag {
            der::OID => Self::from_oid(tlv.content),
            der::SEQUENCE => Self::from_explicit(tlv.content),
            _ => Err(CurveError::Unknown),
        }
    }

    /// Length of a coordinate in bytes.
    pub(super) const fn coordinate_len(self) -> usize {
        match self {
            Self::P256 | Self::BrainpoolP256r1 => 32,
            Self::P384 | Self::BrainpoolP384r1 => 48,
            Self::BrainpoolP512r1 => 64,
            Self::P521 => 66,
        }
    }

    fn from_oid(oid: &[u8]) -> Result<Self, CurveError> {
        match oid {
            b"\x2a\x86\x48\xce\x3d\x03\x01\x07" => Ok(Self::P256),
            b"\x2b\x81\x04\x00\x22" => Ok(Self::P384),
            b"\x2b\x81\x04\x00\x23" => Ok(Self::P521),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x07" => Ok(Self::BrainpoolP256r1),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x0b" => Ok(Self::BrainpoolP384r1),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x05" => Err(BRAINPOOL_P224R1),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x09" => Err(BRAINPOOL_P320R1),
            b"\x2b\x24\x03\x03\x02\x08\x01\x01\x0d" => Ok(Self::BrainpoolP512r1),
            _ => Err(CurveError::Unknown),
        }
    }

    fn from_explicit(domain: &[u8]) -> Result<Self, CurveError> {
        let given = Explicit::read(domain).ok_or(CurveError::Malformed)?;
        if let Some(known) = KNOWN.iter().find(|known| given.is(known)) {
            return Ok(known.curve);
        }
        let unsupported = UNSUPPORTED_PRIMES.iter().find(|(p, _)| is_hex(given.p, p));
        Err(unsupported.map_or(CurveError::Unknown, |(_, error)| *error))
    }
}

/// SpecifiedECDomain with numbers stripped of leading zeros.
struct Explicit<'a> {
    p: &'a [u8],
    a: &'a [u8],
    b: &'a [u8],
    /// A SEC 1 point.
    base: &'a [u8],
    n: &'a [u8],
    cofactor: Option<&'a [u8]>,
}

impl<'a> Explicit<'a> {
    fn read(domain: &'a [u8]) -> Option<Self> {
        let mut domain = Reader::new(domain);
        domain.unsigned()?;
        let mut field = domain.enter(der::SEQUENCE)?;
        if field.element(der::OID)?.content != PRIME_FIELD {
            return None;
        }
        let p = field.unsigned()?;
        let mut curve = domain.enter(der::SEQUENCE)?;
        let a = without_leading_zeros(curve.element(der::OCTET_STRING)?.content);
        let b = without_leading_zeros(curve.element(der::OCTET_STRING)?.content);
        let base = domain.element(der::OCTET_STRING)?.content;
        let n = domain.unsigned()?;
        let cofactor = if domain.is_empty() { None } else { Some(domain.unsigned()?) };
        Some(Self { p, a, b, base, n, cofactor })
    }

    fn is(&self, known: &DomainParameters) -> bool {
        is_hex(self.p, known.p)
            && is_hex(self.a, known.a)
            && is_hex(self.b, known.b)
            && is_hex(self.n, known.n)
            && self.cofactor.is_none_or(|cofactor| cofactor == [1])
            && self.is_base(known)
    }

    fn is_base(&self, known: &DomainParameters) -> bool {
        let len = known.curve.coordinate_len();
        let Some((form, point)) = self.base.split_first() else { return false };
        let Some((x, y)) = point.split_at_checked(len) else { return false };
        let is_x = is_hex(without_leading_zeros(x), known.x);
        match form {
            4 => is_x && y.len() == len && is_hex(without_leading_zeros(y), known.y),
            2 | 3 => is_x && y.is_empty() && (*form == 3) == is_odd(known.y),
            _ => false,
        }
    }
}

/// 1.2.840.10045.1.1
const PRIME_FIELD: &[u8] = b"\x2a\x86\x48\xce\x3d\x01\x01";

const BRAINPOOL_P224R1: CurveError = CurveError::Unsupported("is on brainpoolP224r1");
const BRAINPOOL_P320R1: CurveError = CurveError::Unsupported("is on brainpoolP320r1");

/// Whether `bytes`, without leading zeros, is this number in lower-case hex.
fn is_hex(bytes: &[u8], hex: &str) -> bool {
    let hex = hex.trim_start_matches("00").as_bytes();
    let digit = |nibble: u8| b"0123456789abcdef".get(usize::from(nibble)).copied();
    hex.len() == bytes.len() * 2
        && bytes.iter().zip(hex.chunks_exact(2)).all(|(byte, pair)| {
            pair.first().copied() == digit(byte >> 4) && pair.last().copied() == digit(byte & 15)
        })
}

fn is_odd(hex: &str) -> bool {
    hex.bytes().last().is_some_and(|digit| b"13579bdf".contains(&digit))
}

/// Domain parameters in lower-case hex, two digits a byte; the cofactor of all of them is 1.
struct DomainParameters {
    curve: NamedCurve,
    p: &'static str,
    a: &'static str,
    b: &'static str,
    x: &'static str,
    y: &'static str,
    n: &'static str,
}

/// FIPS 186-4 D.1.2 and RFC 5639 3.
const KNOWN: [DomainParameters; 6] = [
    DomainParameters {
        curve: NamedCurve::P256,
        p: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
        a: "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc",
        b: "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
        x: "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
        y: "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
        n: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    },
    DomainParameters {
        curve: NamedCurve::P384,
        p: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe\
              ffffffff0000000000000000ffffffff",
        a: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe\
              ffffffff0000000000000000fffffffc",
        b: "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875a\
              c656398d8a2ed19d2a85c8edd3ec2aef",
        x: "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a38\
              5502f25dbf55296c3a545e3872760ab7",
        y: "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c0\
              0a60b1ce1d7e819d7a431d7c90ea0e5f",
        n: "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf\
              581a0db248b0a77aecec196accc52973",
    },
    DomainParameters {
        curve: NamedCurve::P521,
        p: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
              ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
              ffff",
        a: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
              ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
              fffc",
        b: "51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109\
              e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f\
              00",
        x: "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d\
              3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5\
              bd66",
        y: "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e\
              662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd1\
              6650",
        n: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
              fffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e9138\
              6409",
    },
    DomainParameters {
        curve: NamedCurve::BrainpoolP256r1,
        p: "a9fb57dba1eea9bc3e660a909d838d726e3bf623d52620282013481d1f6e5377",
        a: "7d5a0975fc2c3057eef67530417affe7fb8055c126dc5c6ce94a4b44f330b5d9",
        b: "26dc5c6ce94a4b44f330b5d9bbd77cbf958416295cf7e1ce6bccdc18ff8c07b6",
        x: "8bd2aeb9cb7e57cb2c4b482ffc81b7afb9de27e1e3bd23c23a4453bd9ace3262",
        y: "547ef835c3dac4fd97f8461a14611dc9c27745132ded8e545c1d54c72f046997",
        n: "a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7",
    },
    DomainParameters {
        curve: NamedCurve::BrainpoolP384r1,
        p: "8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b412b1da197fb71123\
              acd3a729901d1a71874700133107ec53",
        a: "7bc382c63d8c150c3c72080ace05afa0c2bea28e4fb22787139165efba91f90f\
              8aa5814a503ad4eb04a8c7dd22ce2826",
        b: "04a8c7dd22ce28268b39b55416f0447c2fb77de107dcd2a62e880ea53eeb62d5\
              7cb4390295dbc9943ab78696fa504c11",
        x: "1d1c64f068cf45ffa2a63a81b7c13f6b8847a3e77ef14fe3db7fcafe0cbd10e8\
              e826e03436d646aaef87b2e247d4af1e",
        y: "8abe1d7520f9c2a45cb1eb8e95cfd55262b70b29feec5864e19c054ff9912928\
              0e4646217791811142820341263c5315",
        n: "8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7\
              cf3ab6af6b7fc3103b883202e9046565",
    },
    DomainParameters {
        curve: NamedCurve::BrainpoolP512r1,
        p: "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330871\
              7d4d9b009bc66842aecda12ae6a380e62881ff2f2d82c68528aa6056583a48f3",
        a: "7830a3318b603b89e2327145ac234cc594cbdd8d3df91610a83441caea9863bc\
              2ded5d5aa8253aa10a2ef1c98b9ac8b57f1117a72bf2c7b9e7c1ac4d77fc94ca",
        b: "3df91610a83441caea9863bc2ded5d5aa8253aa10a2ef1c98b9ac8b57f1117a7\
              2bf2c7b9e7c1ac4d77fc94cadc083e67984050b75ebae5dd2809bd638016f723",
        x: "81aee4bdd82ed9645a21322e9c4c6a9385ed9f70b5d916c1b43b62eef4d0098e\
              ff3b1f78e2d0d48d50d1687b93b97d5f7c6d5047406a5e688b352209bcb9f822",
        y: "7dde385d566332ecc0eabfa9cf7822fdf209f70024a57b1aa000c55b881f8111\
              b2dcde494a5f485e5bca4bd88a2763aed1ca2b2fa8f0540678cd1e0f3ad80892",
        n: "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870\
              553e5c414ca92619418661197fac10471db1d381085ddaddb58796829ca90069",
    },
];

/// The primes of RFC 5639 curves that are recognised only to name them in errors.
const UNSUPPORTED_PRIMES: [(&str, CurveError); 2] = [
    ("d7c134aa264366862a18302575d1d787b09f075797da89f57ec8c0ff", BRAINPOOL_P224R1),
    (
        "d35e472036bc4fb7e13c785ed201e065f98fcfa6f6f40def4f92b9ec7893ec28\
         fcd412b1f1b32e27",
        BRAINPOOL_P320R1,
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let nibble = |c: u8| u8::try_from(char::from(c).to_digit(16).unwrap()).unwrap();
        hex.as_bytes().chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect()
    }

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let len = u8::try_from(content.len() & 0xff).unwrap();
        let header = match content.len() {
            0..0x80 => vec![tag, len],
            0x80..0x100 => vec![tag, 0x81, len],
            more => vec![tag, 0x82, u8::try_from(more >> 8).unwrap(), len],
        };
        [header, content.to_vec()].concat()
    }

    fn integer(number: &[u8]) -> Vec<u8> {
        let sign: &[u8] =
            if number.first().is_none_or(|first| first & 0x80 != 0) { &[0] } else { &[] };
        tlv(der::INTEGER, &[sign, number].concat())
    }

    /// p, a, b, base, n, cofactor
    fn explicit(parts: &[Vec<u8>; 6]) -> Vec<u8> {
        let [p, a, b, base, n, cofactor] = parts;
        let field = tlv(der::SEQUENCE, &[tlv(der::OID, PRIME_FIELD), integer(p)].concat());
        let octets = |value: &[u8]| tlv(der::OCTET_STRING, value);
        let curve = tlv(der::SEQUENCE, &[octets(a), octets(b)].concat());
        let cofactor = if cofactor.is_empty() { Vec::new() } else { integer(cofactor) };
        let parts = [integer(&[1]), field, curve, octets(base), integer(n), cofactor];
        tlv(der::SEQUENCE, &parts.concat())
    }

    fn parts(known: &DomainParameters) -> [Vec<u8>; 6] {
        let base = [vec![4], bytes(known.x), bytes(known.y)].concat();
        [bytes(known.p), bytes(known.a), bytes(known.b), base, bytes(known.n), vec![1]]
    }

    #[test]
    fn explicit_parameters_of_a_known_curve_are_that_curve() {
        for known in &KNOWN {
            let mut given = parts(known);
            assert_eq!(NamedCurve::from_parameters(&explicit(&given)), Ok(known.curve));
            given[5].clear();
            assert_eq!(NamedCurve::from_parameters(&explicit(&given)), Ok(known.curve));
            let parity = 2 + u8::from(is_odd(known.y));
            given[3] = [vec![parity], bytes(known.x)].concat();
            assert_eq!(NamedCurve::from_parameters(&explicit(&given)), Ok(known.curve));
            given[3][0] ^= 1;
            assert_eq!(NamedCurve::from_parameters(&explicit(&given)), Err(CurveError::Unknown));
        }
    }

    #[test]
    fn one_changed_parameter_makes_it_another_curve() {
        for known in &KNOWN {
            for part in 0..6 {
                let mut given = parts(known);
                let last = given[part].len() - 1;
                given[part][last] ^= 2;
                let curve = NamedCurve::from_parameters(&explicit(&given));
                assert_eq!(curve, Err(CurveError::Unknown), "{:?} {part}", known.curve);
            }
        }
    }

    #[test]
    fn known_curves_without_support_are_named() {
        for (p, error) in UNSUPPORTED_PRIMES {
            let mut given = parts(&KNOWN[3]);
            given[0] = bytes(p);
            assert_eq!(NamedCurve::from_parameters(&explicit(&given)), Err(error));
        }
        let p320 = tlv(der::OID, b"\x2b\x24\x03\x03\x02\x08\x01\x01\x09");
        assert_eq!(NamedCurve::from_parameters(&p320), Err(BRAINPOOL_P320R1));
    }

    #[test]
    fn anything_else_is_not_a_curve() {
        let whole = explicit(&parts(&KNOWN[0]));
        for len in 0..whole.len() {
            assert!(NamedCurve::from_parameters(&whole[..len]).is_err(), "{len}");
        }
        for other in [&b""[..], b"\x05\x00", b"\x06\x01\x2a", b"\x30\x00"] {
            assert!(NamedCurve::from_parameters(other).is_err());
        }
        let trailing = [&whole[..], &[5, 0]].concat();
        assert_eq!(NamedCurve::from_parameters(&trailing), Err(CurveError::Malformed));
    }
}
