//! The parts of a provider. The traits for verifying and hashing are here; those for key agreement
//! and decryption are next to their types.

use core::fmt;

use crate::crypto::agreement::KeyAgreement;
use crate::crypto::certificate_keys::CertificateVerifier;
use crate::crypto::content_encryption::ContentCipher;
use crate::crypto::hash::{HashAlg, HashValue};
use crate::crypto::key::{Alg, InvalidKey, PublicKey};

/// The cryptography that verification needs. To replace a part, use struct update syntax.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // other crates create it by struct update
pub struct CryptoProvider {
    /// The name for reports, for example `aws-lc-rs`.
    pub name: &'static str,
    /// Verifies ES256, ES384 and ES512 signatures: at most one verifier per algorithm.
    pub verifiers: &'static [&'static dyn SignatureVerifier],
    /// Computes digests.
    pub hasher: &'static dyn Hasher,
    /// Agrees on keys (ECDH), and authenticates with them (HMAC).
    pub agreement: &'static dyn KeyAgreement,
    /// Decrypts the content of encrypted answers (AES).
    pub content_cipher: &'static dyn ContentCipher,
    /// Verifies signatures by RSA and brainpool keys. Such keys may sign only certificates, CRLs
    /// and lists.
    pub certificate_verifier: &'static dyn CertificateVerifier,
}

impl CryptoProvider {
    /// Returns the verifier for `alg`, if this provider has one.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn verifier(&self, alg: Alg) -> Option<&'static dyn SignatureVerifier> {
        self.verifiers.iter().copied().find(|verifier| verifier.alg() == alg)
    }

    /// Verifies with the algorithm of the key's curve: the key decides, never a token.
    ///
    /// # Errors
    /// The signature was not made by this key over `message`, or this provider lacks the algorithm.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.verifier(key.alg()).ok_or(InvalidSignature)?.verify(key, message, signature)
    }

    /// Checks that `key` can verify signatures: its point is on its curve (SEC 1 3.2.2). Call it
    /// when a key becomes trusted; `CryptoProvider::verify` checks again at every use.
    ///
    /// # Errors
    /// The point is not on the curve, or this provider lacks the algorithm.
    pub fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey> {
        self.verifier(key.alg()).ok_or(InvalidKey)?.check_key(key)
    }

    /// Hashes `data`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn hash(&self, alg: HashAlg, data: &[u8]) -> HashValue {
        self.hasher.hash(alg, data)
    }

    /// Returns the SHA-256 digest of `data`.
    pub(crate) fn sha256(&self, data: &[u8]) -> [u8; 32] {
        let digest = self.hash(HashAlg::Sha256, data);
        let mut sha256 = [0; 32];
        for (to, from) in sha256.iter_mut().zip(digest.as_bytes()) {
            *to = *from;
        }
        sha256
    }
}

/// Verifies the signatures of one JOSE algorithm.
pub trait SignatureVerifier: fmt::Debug + Send + Sync {
    /// The algorithm.
    fn alg(&self) -> Alg;

    /// Verifies `signature`, raw r‖s of the curve's length (RFC 7518 3.4). Any other form is
    /// invalid, and so is a key of another curve or with a point that is not on its curve.
    ///
    /// # Errors
    /// The signature was not made by this key over `message`.
    fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature>;

    /// Verifies a signature in the form that certificates use (RFC 5758 3.2): the hash is named in
    /// addition to the curve, and `signature` is an ECDSA-Sig-Value in DER (RFC 3279 2.2.3).
    ///
    /// # Errors
    /// The signature was not made by this key over `message`.
    fn verify_x509(
        &self,
        key: &PublicKey,
        hash: HashAlg,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature>;

    /// Checks that `key` is a point on the curve of this algorithm (SEC 1 3.2.2).
    ///
    /// # Errors
    /// The key is for another curve, or its point is not on the curve.
    fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey>;
}

/// Computes digests.
pub trait Hasher: fmt::Debug + Send + Sync {
    /// Returns the digest of `data`.
    fn hash(&self, alg: HashAlg, data: &[u8]) -> HashValue;
}

/// The error for a signature that does not verify. There is intentionally no detail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct InvalidSignature;

impl fmt::Display for InvalidSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid signature")
    }
}

impl core::error::Error for InvalidSignature {}
