//! Signing keys for ES256, ES384 and ES512 (RFC 7518 3.4).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::Signer as _;
use serde_json::{Map, Value};

use crate::codec::{HashAlg, base64url, from_base64url};
use crate::der::{self, bit_string, oid, sequence, tlv, unsigned};

/// An elliptic curve and its JOSE algorithm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Curve {
    /// P-256, ES256
    P256,
    /// P-384, ES384
    P384,
    /// P-521, ES512
    P521,
}

impl Curve {
    /// Every curve.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// Its JWK name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// The algorithm that its keys sign with.
    pub const fn alg(self) -> &'static str {
        match self {
            Self::P256 => "ES256",
            Self::P384 => "ES384",
            Self::P521 => "ES512",
        }
    }

    /// Length of a coordinate in bytes; a signature has twice as many.
    pub const fn coordinate_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// The bytes before the uncompressed point in a SubjectPublicKeyInfo (RFC 5480 2).
    const fn spki_prefix(self) -> &'static [u8] {
        match self {
            Self::P256 => &[
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
            ],
            Self::P384 => &[
                0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
            ],
            Self::P521 => &[
                0x30, 0x81, 0x9b, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
                0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23, 0x03, 0x81, 0x86, 0x00,
            ],
        }
    }
}

/// A private key that signs, with an optional key identifier.
#[derive(Clone)]
pub struct SigningKey {
    secret: Secret,
    kid: Option<String>,
}

#[derive(Clone)]
enum Secret {
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    P521(p521::ecdsa::SigningKey),
}

/// No key could be made; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyError(pub &'static str);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no signing key: {}", self.0)
    }
}

impl std::error::Error for KeyError {}

impl SigningKey {
    /// A fresh key from the operating system's random source.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate(curve: Curve) -> Result<Self, KeyError> {
        let mut seed = [0; 64];
        getrandom::fill(&mut seed).map_err(|_| KeyError("the random source failed"))?;
        Ok(Self::from_seed(curve, seed))
    }

    /// The key that belongs to `seed`: the same one on every run. For sample data only.
    pub fn from_seed(curve: Curve, seed: impl AsRef<[u8]>) -> Self {
        let mut stream = HashAlg::Sha512.hash(seed.as_ref());
        loop {
            let next = HashAlg::Sha512.hash(&stream);
            let mut scalar: Vec<u8> = [stream.as_slice(), next.as_slice()].concat();
            scalar.truncate(curve.coordinate_len());
            if curve == Curve::P521 {
                // 521 bits: seven bits of the first byte are unused.
                scalar.iter_mut().take(1).for_each(|top| *top &= 1);
            }
            match Secret::from_scalar(curve, &scalar) {
                Some(secret) => return Self { secret, kid: None },
                None => stream = next,
            }
        }
    }

    /// A key from a private EC JWK; its `kid` is kept.
    ///
    /// # Errors
    /// The JWK has no known `crv` or no usable `d`.
    pub fn from_jwk(jwk: &Value) -> Result<Self, KeyError> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let curve = text("crv")
            .and_then(|crv| Curve::ALL.into_iter().find(|curve| curve.name() == crv))
            .ok_or(KeyError("crv must be P-256, P-384 or P-521"))?;
        let scalar = text("d").and_then(from_base64url).ok_or(KeyError("d must be base64url"))?;
        let secret =
            Secret::from_scalar(curve, &scalar).ok_or(KeyError("d is not a scalar of crv"))?;
        Ok(Self { secret, kid: text("kid").map(String::from) })
    }

    /// Sets the key identifier, which is also in the JWK.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// Without a key identifier.
    #[must_use]
    pub fn without_kid(mut self) -> Self {
        self.kid = None;
        self
    }

    /// The key identifier.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        match self.secret {
            Secret::P256(_) => Curve::P256,
            Secret::P384(_) => Curve::P384,
            Secret::P521(_) => Curve::P521,
        }
    }

    /// The JOSE algorithm.
    pub fn alg(&self) -> &'static str {
        self.curve().alg()
    }

    /// The raw signature r‖s of `message`; deterministic (RFC 6979).
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.secret {
            Secret::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            Secret::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            Secret::P521(key) => {
                let signature: p521::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
        }
    }

    /// The raw signature r‖s of a digest from any hash; deterministic.
    pub fn sign_prehashed(&self, digest: &[u8]) -> Vec<u8> {
        use p256::ecdsa::signature::hazmat::PrehashSigner as _;
        match &self.secret {
            Secret::P256(key) => {
                let signature: Result<p256::ecdsa::Signature, _> = key.sign_prehash(digest);
                signature.map(|signature| signature.to_bytes().to_vec())
            }
            Secret::P384(key) => {
                let signature: Result<p384::ecdsa::Signature, _> = key.sign_prehash(digest);
                signature.map(|signature| signature.to_bytes().to_vec())
            }
            Secret::P521(key) => {
                let signature: Result<p521::ecdsa::Signature, _> = key.sign_prehash(digest);
                signature.map(|signature| signature.to_bytes().to_vec())
            }
        }
        .unwrap_or_default()
    }

    /// The uncompressed public point (SEC 1 2.3.3).
    pub fn public_sec1(&self) -> Vec<u8> {
        match &self.secret {
            Secret::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Secret::P384(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Secret::P521(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        }
    }

    /// The public key as a JWK, with `kid` when there is one.
    pub fn public_jwk(&self) -> Value {
        let point = self.public_sec1();
        let coordinates = point.get(1..).unwrap_or_default();
        let (x, y) = coordinates.split_at(coordinates.len() / 2);
        let mut jwk = Map::new();
        jwk.insert("kty".into(), "EC".into());
        jwk.insert("crv".into(), self.curve().name().into());
        jwk.insert("x".into(), base64url(x).into());
        jwk.insert("y".into(), base64url(y).into());
        if let Some(kid) = &self.kid {
            jwk.insert("kid".into(), kid.as_str().into());
        }
        Value::Object(jwk)
    }

    /// The private key as a JWK.
    pub fn private_jwk(&self) -> Value {
        let mut jwk = self.public_jwk();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("d".into(), base64url(&self.secret.scalar()).into());
        }
        jwk
    }

    /// The public key as SubjectPublicKeyInfo in DER.
    pub fn public_spki(&self) -> Vec<u8> {
        [self.curve().spki_prefix(), &self.public_sec1()].concat()
    }

    /// The public key as PEM (RFC 7468 13).
    pub fn public_pem(&self) -> String {
        pem("PUBLIC KEY", &self.public_spki())
    }

    /// The private key as PKCS #8 in PEM (RFC 5958, RFC 5915).
    pub fn private_pem(&self) -> String {
        let curve = match self.curve() {
            Curve::P256 => "1.2.840.10045.3.1.7",
            Curve::P384 => "1.3.132.0.34",
            Curve::P521 => "1.3.132.0.35",
        };
        let secret = tlv(der::OCTET_STRING, &[&self.secret.scalar()]);
        let public = tlv(0xa1, &[&bit_string(&self.public_sec1())]);
        let ec = sequence(&[&unsigned(&[1]), &secret, &public]);
        let algorithm = sequence(&[&oid("1.2.840.10045.2.1"), &oid(curve)]);
        let key = tlv(der::OCTET_STRING, &[&ec]);
        pem("PRIVATE KEY", &sequence(&[&unsigned(&[0]), &algorithm, &key]))
    }
}

/// RFC 7468
pub fn pem(label: &str, der: &[u8]) -> String {
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.curve().name())
    }
}

impl Secret {
    fn from_scalar(curve: Curve, scalar: &[u8]) -> Option<Self> {
        if scalar.len() != curve.coordinate_len() {
            return None;
        }
        match curve {
            Curve::P256 => p256::ecdsa::SigningKey::from_slice(scalar).ok().map(Self::P256),
            Curve::P384 => p384::ecdsa::SigningKey::from_slice(scalar).ok().map(Self::P384),
            Curve::P521 => p521::ecdsa::SigningKey::from_slice(scalar).ok().map(Self::P521),
        }
    }

    fn scalar(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => key.to_bytes().to_vec(),
            Self::P384(key) => key.to_bytes().to_vec(),
            Self::P521(key) => key.to_bytes().to_vec(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use p256::ecdsa::signature::Verifier as _;
    use p256::pkcs8::DecodePublicKey as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn signatures_verify_and_have_the_length_of_their_curve() {
        for curve in Curve::ALL {
            let signature = SigningKey::from_seed(curve, "length").sign(b"message");
            assert_eq!(signature.len(), 2 * curve.coordinate_len());
        }
        let key = SigningKey::from_seed(Curve::P521, "verify");
        let public = p521::ecdsa::VerifyingKey::from_sec1_bytes(&key.public_sec1()).unwrap();
        let signature = p521::ecdsa::Signature::from_slice(&key.sign(b"message")).unwrap();
        assert!(public.verify(b"message", &signature).is_ok());
        assert!(public.verify(b"another", &signature).is_err());
    }

    #[test]
    fn a_seed_gives_one_key_and_the_system_another_each_time() {
        let seeded = || SigningKey::from_seed(Curve::P384, "seed").public_jwk();
        assert_eq!(seeded(), seeded());
        let fresh = || SigningKey::generate(Curve::P384).unwrap().public_jwk();
        assert_ne!(fresh(), fresh());
    }

    #[test]
    fn a_private_jwk_round_trips_with_its_kid() {
        for curve in Curve::ALL {
            let key = SigningKey::from_seed(curve, "jwk").with_kid("key-1");
            let again = SigningKey::from_jwk(&key.private_jwk()).unwrap();
            assert_eq!(again.private_jwk(), key.private_jwk());
            assert_eq!(again.kid(), Some("key-1"));
            assert_eq!(key.public_jwk().get("d"), None);
        }
    }

    #[test]
    fn spki_is_read_by_an_independent_decoder() {
        let p256 = SigningKey::from_seed(Curve::P256, "spki");
        let decoded = p256::PublicKey::from_public_key_der(&p256.public_spki()).unwrap();
        assert_eq!(decoded.to_sec1_bytes().to_vec(), p256.public_sec1());
        let p384 = SigningKey::from_seed(Curve::P384, "spki");
        assert!(p384::PublicKey::from_public_key_der(&p384.public_spki()).is_ok());
        let p521 = SigningKey::from_seed(Curve::P521, "spki");
        assert!(p521::PublicKey::from_public_key_der(&p521.public_spki()).is_ok());
        assert!(p521.public_pem().lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn jwks_that_cannot_sign_are_refused() {
        let public = SigningKey::from_seed(Curve::P256, "refused").public_jwk();
        assert!(SigningKey::from_jwk(&public).is_err());
        let zero = json!({"crv": "P-256", "d": base64url(&[0; 32])});
        assert!(SigningKey::from_jwk(&zero).is_err());
        assert!(SigningKey::from_jwk(&json!({"crv": "secp256k1", "d": "AA"})).is_err());
    }
}
