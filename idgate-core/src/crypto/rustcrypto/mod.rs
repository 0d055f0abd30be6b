//! The portable back end: ECDSA and SHA-2 from the RustCrypto crates, pure Rust on any target.

mod agreement;
mod content;

use core::fmt;
use core::marker::PhantomData;
use core::ops::Add;

use ecdsa::elliptic_curve::array::ArraySize;
use ecdsa::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use ecdsa::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize};
use ecdsa::signature::Verifier;
use ecdsa::signature::hazmat::PrehashVerifier;
use ecdsa::{DigestAlgorithm, EcdsaCurve, Signature, VerifyingKey, der};
use p256::NistP256;
use p384::NistP384;
use p521::NistP521;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::crypto::certificate_keys::PortableCertificateVerifier;
use crate::crypto::hash::{HashAlg, HashValue};
use crate::crypto::key::{Alg, InvalidKey, PublicKey};
use crate::crypto::provider::{CryptoProvider, Hasher, InvalidSignature, SignatureVerifier};

/// ES256, ES384 and ES512; SHA-256, SHA-384 and SHA-512; ECDH, HMAC and AES.
pub const PROVIDER: CryptoProvider = CryptoProvider {
    name: "rustcrypto",
    verifiers: &[
        &Ecdsa::<NistP256>::new(Alg::Es256),
        &Ecdsa::<NistP384>::new(Alg::Es384),
        &Ecdsa::<NistP521>::new(Alg::Es512),
    ],
    hasher: &Sha2,
    agreement: &agreement::Agreement,
    content_cipher: &content::Content,
    certificate_verifier: &PortableCertificateVerifier,
};

/// ECDSA on `C` with the hash that JOSE pairs with this curve, which [`DigestAlgorithm`] names.
struct Ecdsa<C> {
    alg: Alg,
    curve: PhantomData<fn() -> C>,
}

impl<C> Ecdsa<C> {
    const fn new(alg: Alg) -> Self {
        Self { alg, curve: PhantomData }
    }
}

impl<C> Ecdsa<C>
where
    C: EcdsaCurve + CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    /// The key as a point on `C`; the identity and points outside the curve are refused.
    fn point(&self, key: &PublicKey) -> Result<VerifyingKey<C>, InvalidKey> {
        if key.alg() != self.alg {
            return Err(InvalidKey);
        }
        VerifyingKey::from_sec1_bytes(key.sec1()).map_err(|_| InvalidKey)
    }
}

impl<C> SignatureVerifier for Ecdsa<C>
where
    C: EcdsaCurve + CurveArithmetic + DigestAlgorithm,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
    der::MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<der::MaxOverhead> + ArraySize,
{
    fn alg(&self) -> Alg {
        self.alg
    }

    fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let signature = Signature::<C>::from_slice(signature).map_err(|_| InvalidSignature)?;
        let key = self.point(key).map_err(|_| InvalidSignature)?;
        key.verify(message, &signature).map_err(|_| InvalidSignature)
    }

    fn verify_x509(
        &self,
        key: &PublicKey,
        hash: HashAlg,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let signature = Signature::<C>::from_der(signature).map_err(|_| InvalidSignature)?;
        let key = self.point(key).map_err(|_| InvalidSignature)?;
        let hash = Sha2.hash(hash, message);
        key.verify_prehash(hash.as_bytes(), &signature).map_err(|_| InvalidSignature)
    }

    fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey> {
        self.point(key).map(|_| ())
    }
}

impl<C> fmt::Debug for Ecdsa<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ecdsa({})", self.alg)
    }
}

#[derive(Debug)]
struct Sha2;

impl Hasher for Sha2 {
    fn hash(&self, alg: HashAlg, data: &[u8]) -> HashValue {
        match alg {
            HashAlg::Sha256 => HashValue::new(&Sha256::digest(data)),
            HashAlg::Sha384 => HashValue::new(&Sha384::digest(data)),
            HashAlg::Sha512 => HashValue::new(&Sha512::digest(data)),
        }
    }
}
