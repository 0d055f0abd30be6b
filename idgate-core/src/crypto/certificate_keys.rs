//! Keys that sign only certificates, CRLs and lists, never credentials: RSA and the brainpool
//! curves.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use bp256::BrainpoolP256r1;
use bp384::BrainpoolP384r1;
use ecdsa::VerifyingKey;
use ecdsa::signature::hazmat::PrehashVerifier;
use rsa::pkcs1v15::Pkcs1v15Sign;
use rsa::pss::Pss;
use rsa::traits::{PublicKeyParts, SignatureScheme};
use rsa::{BoxedUint, RsaPublicKey};
use sha2::{Sha256, Sha384, Sha512};

use crate::crypto::brainpool_p512::BrainpoolP512r1;
use crate::crypto::hash::{HashAlg, HashValue};
use crate::crypto::provider::InvalidSignature;
use crate::limits::{MAX_RSA_BITS, MIN_RSA_BITS};

/// Verifies signatures by keys that sign only certificates, CRLs and lists. It gets the hash of a
/// message, which the provider's own hasher computed.
pub trait CertificateVerifier: fmt::Debug + Send + Sync {
    /// RSASSA-PKCS1-v1_5 and RSASSA-PSS (RFC 8017 8).
    ///
    /// # Errors
    /// The signature was not made by this key over data with this hash.
    fn verify_rsa(
        &self,
        key: &RsaKey,
        scheme: RsaScheme,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature>;

    /// ECDSA on a brainpool curve (RFC 5639); `signature` is an ECDSA-Sig-Value in DER.
    ///
    /// # Errors
    /// The signature was not made by this key over data with this hash.
    fn verify_brainpool(
        &self,
        key: &BrainpoolKey,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature>;
}

/// A scheme of RSA signatures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // there are exactly these two (RFC 8017 8)
pub enum RsaScheme {
    /// RFC 8017 8.2
    Pkcs1(HashAlg),
    /// RFC 8017 8.1, with MGF1 over the same hash
    Pss {
        /// The hash for the message and for the mask.
        hash: HashAlg,
        /// The length of the salt in bytes.
        salt_len: usize,
    },
}

/// An RSA key of an accepted size.
#[derive(Clone, Debug)]
pub struct RsaKey(Box<RsaPublicKey>);

impl RsaKey {
    /// Creates a key from modulus and exponent; `None`: it does not have 2048 to 8192 bits, or its
    /// exponent is not sensible.
    pub(super) fn new(modulus: &[u8], exponent: &[u8]) -> Option<Self> {
        if modulus.len() > MAX_RSA_BITS / 8 || exponent.len() > 8 {
            return None;
        }
        let n = BoxedUint::from_be_slice_vartime(modulus);
        let e = BoxedUint::from_be_slice_vartime(exponent);
        if n.bits_vartime() < MIN_RSA_BITS {
            return None;
        }
        #[allow(
            deprecated,
            reason = "its successor is not in rc.19, which another crate in tests/ pins"
        )]
        let key = RsaPublicKey::new_with_max_size(n, e, MAX_RSA_BITS).ok()?;
        Some(Self(Box::new(key)))
    }

    /// The modulus, big-endian without leading zeros.
    pub fn modulus(&self) -> Vec<u8> {
        self.0.n().to_be_bytes_trimmed_vartime().into()
    }

    /// The public exponent, big-endian without leading zeros.
    pub fn exponent(&self) -> Vec<u8> {
        self.0.e().to_be_bytes_trimmed_vartime().into()
    }

    /// The length of the modulus in bits.
    pub fn bits(&self) -> u32 {
        self.0.n().bits_vartime()
    }
}

/// A key on a brainpool curve; its point is on the curve.
#[derive(Clone, Debug)]
pub struct BrainpoolKey(Brainpool);

#[derive(Clone, Debug)]
enum Brainpool {
    P256r1(Box<VerifyingKey<BrainpoolP256r1>>),
    P384r1(Box<VerifyingKey<BrainpoolP384r1>>),
    P512r1(Box<VerifyingKey<BrainpoolP512r1>>),
}

impl BrainpoolKey {
    /// Creates a key on brainpoolP256r1 from an uncompressed point.
    pub(super) fn p256r1(point: &[u8]) -> Option<Self> {
        let key = VerifyingKey::from_sec1_bytes(point).ok()?;
        Some(Self(Brainpool::P256r1(Box::new(key))))
    }

    /// Creates a key on brainpoolP384r1 from an uncompressed point.
    pub(super) fn p384r1(point: &[u8]) -> Option<Self> {
        let key = VerifyingKey::from_sec1_bytes(point).ok()?;
        Some(Self(Brainpool::P384r1(Box::new(key))))
    }

    /// Creates a key on brainpoolP512r1 from an uncompressed point.
    pub(super) fn p512r1(point: &[u8]) -> Option<Self> {
        let key = VerifyingKey::from_sec1_bytes(point).ok()?;
        Some(Self(Brainpool::P512r1(Box::new(key))))
    }

    /// The name of the curve (RFC 5639 3).
    pub const fn curve(&self) -> &'static str {
        match self.0 {
            Brainpool::P256r1(_) => "brainpoolP256r1",
            Brainpool::P384r1(_) => "brainpoolP384r1",
            Brainpool::P512r1(_) => "brainpoolP512r1",
        }
    }

    /// The uncompressed point (SEC 1 2.3.3).
    pub fn sec1(&self) -> Vec<u8> {
        match &self.0 {
            Brainpool::P256r1(key) => key.to_sec1_point(false).as_bytes().into(),
            Brainpool::P384r1(key) => key.to_sec1_point(false).as_bytes().into(),
            Brainpool::P512r1(key) => key.to_sec1_point(false).as_bytes().into(),
        }
    }
}

/// Verification by the RustCrypto crates, which both providers of this crate use.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // it has no state
pub struct PortableCertificateVerifier;

impl CertificateVerifier for PortableCertificateVerifier {
    fn verify_rsa(
        &self,
        key: &RsaKey,
        scheme: RsaScheme,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        match scheme {
            RsaScheme::Pkcs1(HashAlg::Sha256) => {
                rsa(key, Pkcs1v15Sign::new::<Sha256>(), hash, signature)
            }
            RsaScheme::Pkcs1(HashAlg::Sha384) => {
                rsa(key, Pkcs1v15Sign::new::<Sha384>(), hash, signature)
            }
            RsaScheme::Pkcs1(HashAlg::Sha512) => {
                rsa(key, Pkcs1v15Sign::new::<Sha512>(), hash, signature)
            }
            RsaScheme::Pss { hash: alg, salt_len } => match alg {
                HashAlg::Sha256 => rsa(key, salted::<Sha256>(salt_len), hash, signature),
                HashAlg::Sha384 => rsa(key, salted::<Sha384>(salt_len), hash, signature),
                HashAlg::Sha512 => rsa(key, salted::<Sha512>(salt_len), hash, signature),
            },
        }
    }

    fn verify_brainpool(
        &self,
        key: &BrainpoolKey,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        match &key.0 {
            Brainpool::P256r1(key) => {
                let signature = ecdsa::Signature::from_der(signature);
                prehashed(&**key, hash, &signature.map_err(|_| InvalidSignature)?)
            }
            Brainpool::P384r1(key) => {
                let signature = ecdsa::Signature::from_der(signature);
                prehashed(&**key, hash, &signature.map_err(|_| InvalidSignature)?)
            }
            Brainpool::P512r1(key) => {
                let signature = ecdsa::Signature::from_der(signature);
                prehashed(&**key, hash, &signature.map_err(|_| InvalidSignature)?)
            }
        }
    }
}

fn salted<D: sha2::Digest>(salt_len: usize) -> Pss<D> {
    Pss::new_with_salt(salt_len)
}

fn prehashed<S>(
    key: &impl PrehashVerifier<S>,
    hash: &HashValue,
    signature: &S,
) -> Result<(), InvalidSignature> {
    key.verify_prehash(hash.as_bytes(), signature).map_err(|_| InvalidSignature)
}

fn rsa(
    key: &RsaKey,
    scheme: impl SignatureScheme,
    hash: &HashValue,
    signature: &[u8],
) -> Result<(), InvalidSignature> {
    key.0.verify(scheme, hash.as_bytes(), signature).map_err(|_| InvalidSignature)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_testkit::keys::{Curve, SigningKey};

    use super::*;

    #[test]
    fn keys_expose_their_numbers_to_other_implementations() {
        let modulus = [&[0xff; 256][..]].concat();
        let key = RsaKey::new(&modulus, &[1, 0, 1]).unwrap();
        assert_eq!((key.modulus(), key.exponent(), key.bits()), (modulus, [1, 0, 1].into(), 2048));
        let point = SigningKey::from_seed(Curve::P256, "not brainpool").public_sec1();
        assert!(BrainpoolKey::p256r1(&point).is_none());
    }
}
