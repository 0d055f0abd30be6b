//! Public keys on the curves of ES256, ES384 and ES512.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A JOSE signature algorithm (RFC 7518 3.4).
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Alg {
    /// ECDSA on P-256 with SHA-256
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA on P-384 with SHA-384
    #[serde(rename = "ES384")]
    Es384,
    /// ECDSA on P-521 with SHA-512
    #[serde(rename = "ES512")]
    Es512,
}

impl Alg {
    /// All algorithms, weakest curve first.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 3] = [Self::Es256, Self::Es384, Self::Es512];

    /// Returns the algorithm with this JOSE name; case-sensitive.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alg| alg.name() == name)
    }

    /// Returns the JOSE name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
        }
    }
}

impl fmt::Display for Alg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An elliptic curve.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Curve {
    /// NIST P-256
    P256,
    /// NIST P-384
    P384,
    /// NIST P-521
    P521,
}

impl Curve {
    /// All curves, weakest first.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// Returns the curve with this JWK name (RFC 7518 6.2.1.1).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.name() == name)
    }

    /// Returns the JWK name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Returns the length of a coordinate in bytes.
    pub const fn coordinate_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Returns the algorithm that keys of this curve sign with.
    pub const fn alg(self) -> Alg {
        match self {
            Self::P256 => Alg::Es256,
            Self::P384 => Alg::Es384,
            Self::P521 => Alg::Es512,
        }
    }
}

/// A public key: curve and uncompressed point. The provider checks at every use that the point is
/// on the curve.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct PublicKey {
    curve: Curve,
    sec1: [u8; 133],
}

/// The error for bytes that are not a public key of a known curve.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct InvalidKey;

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a public key on P-256, P-384 or P-521")
    }
}

impl core::error::Error for InvalidKey {}

impl PublicKey {
    /// Creates a key from affine coordinates, each of the curve's full length.
    ///
    /// # Errors
    /// A coordinate has a wrong length.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_coordinates(curve: Curve, x: &[u8], y: &[u8]) -> Result<Self, InvalidKey> {
        let len = curve.coordinate_len();
        if x.len() != len || y.len() != len {
            return Err(InvalidKey);
        }
        let mut sec1 = [0; 133];
        for (to, from) in sec1.iter_mut().zip([4].iter().chain(x).chain(y)) {
            *to = *from;
        }
        Ok(Self { curve, sec1 })
    }

    /// Creates a key from an uncompressed point (SEC 1 2.3.4).
    ///
    /// # Errors
    /// The point has a wrong length or form.
    pub fn from_sec1(curve: Curve, point: &[u8]) -> Result<Self, InvalidKey> {
        let coordinates = point.strip_prefix(&[4]).ok_or(InvalidKey)?;
        let (x, y) = coordinates.split_at_checked(curve.coordinate_len()).ok_or(InvalidKey)?;
        Self::from_coordinates(curve, x, y)
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// The algorithm that this key verifies.
    pub fn alg(&self) -> Alg {
        self.curve.alg()
    }

    /// The affine coordinates x and y, each of the curve's full length.
    pub fn coordinates(&self) -> (&[u8], &[u8]) {
        let point = self.sec1().get(1..).unwrap_or_default();
        point.split_at_checked(self.curve.coordinate_len()).unwrap_or_default()
    }

    /// The uncompressed point (SEC 1 2.3.3).
    pub fn sec1(&self) -> &[u8] {
        self.sec1.get(..1 + 2 * self.curve.coordinate_len()).unwrap_or(&self.sec1)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.curve.name())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(Alg::from_name("ES512"), Some(Alg::Es512));
        assert_eq!(Curve::from_name("P-521"), Some(Curve::P521));
        for other in ["es256", "ES256 ", "ES256K", "none", "None", "HS256", "RS256", "EdDSA", ""] {
            assert_eq!(Alg::from_name(other), None, "{other}");
        }
        for other in ["p-256", "P-512", "secp256k1", "secp256r1", "Ed25519", ""] {
            assert_eq!(Curve::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn coordinates_have_the_full_length() {
        for curve in Curve::ALL {
            let len = curve.coordinate_len();
            let (x, y) = ([1; 67], [2; 67]);
            let key = PublicKey::from_coordinates(curve, &x[..len], &y[..len]).unwrap();
            assert_eq!(key.coordinates(), (&x[..len], &y[..len]));
            assert_eq!(key.sec1().len(), 1 + 2 * len);
            for bad in [0, len - 1, len + 1] {
                let wrong_x = PublicKey::from_coordinates(curve, &x[..bad], &y[..len]);
                let wrong_y = PublicKey::from_coordinates(curve, &x[..len], &y[..bad]);
                assert_eq!((wrong_x, wrong_y), (Err(InvalidKey), Err(InvalidKey)), "{bad}");
            }
        }
    }
}
