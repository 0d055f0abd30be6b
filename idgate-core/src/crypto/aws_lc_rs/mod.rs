//! The fast back end: ECDSA and SHA-2 from AWS-LC, written in C and assembly.

mod agreement;
mod content;

use core::fmt;

use ::aws_lc_rs::digest;
use ::aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA384_ASN1,
    ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA512_ASN1, ECDSA_P521_SHA256_ASN1,
    ECDSA_P521_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ECDSA_P521_SHA512_FIXED,
    EcdsaVerificationAlgorithm, ParsedPublicKey, UnparsedPublicKey,
};

use crate::crypto::certificate_keys::PortableCertificateVerifier;
use crate::crypto::hash::{HashAlg, HashValue};
use crate::crypto::key::{Alg, InvalidKey, PublicKey};
use crate::crypto::provider::{CryptoProvider, Hasher, InvalidSignature, SignatureVerifier};

/// ES256, ES384 and ES512; SHA-256, SHA-384 and SHA-512; ECDH, HMAC and AES.
pub const PROVIDER: CryptoProvider = CryptoProvider {
    name: "aws-lc-rs",
    verifiers: &[
        &Ecdsa {
            alg: Alg::Es256,
            algorithm: &ECDSA_P256_SHA256_FIXED,
            x509: [&ECDSA_P256_SHA256_ASN1, &ECDSA_P256_SHA384_ASN1, &ECDSA_P256_SHA512_ASN1],
        },
        &Ecdsa {
            alg: Alg::Es384,
            algorithm: &ECDSA_P384_SHA384_FIXED,
            x509: [&ECDSA_P384_SHA256_ASN1, &ECDSA_P384_SHA384_ASN1, &ECDSA_P384_SHA512_ASN1],
        },
        &Ecdsa {
            alg: Alg::Es512,
            algorithm: &ECDSA_P521_SHA512_FIXED,
            x509: [&ECDSA_P521_SHA256_ASN1, &ECDSA_P521_SHA384_ASN1, &ECDSA_P521_SHA512_ASN1],
        },
    ],
    hasher: &Sha2,
    agreement: &agreement::Agreement,
    content_cipher: &content::Content,
    certificate_verifier: &PortableCertificateVerifier,
};

struct Ecdsa {
    alg: Alg,
    algorithm: &'static EcdsaVerificationAlgorithm,
    /// With SHA-256, SHA-384 and SHA-512 and signatures in DER.
    x509: [&'static EcdsaVerificationAlgorithm; 3],
}

impl SignatureVerifier for Ecdsa {
    fn alg(&self) -> Alg {
        self.alg
    }

    fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        if key.alg() != self.alg {
            return Err(InvalidSignature);
        }
        UnparsedPublicKey::new(self.algorithm, key.sec1())
            .verify(message, signature)
            .map_err(|_| InvalidSignature)
    }

    fn verify_x509(
        &self,
        key: &PublicKey,
        hash: HashAlg,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        if key.alg() != self.alg {
            return Err(InvalidSignature);
        }
        let [sha256, sha384, sha512] = self.x509;
        let algorithm = match hash {
            HashAlg::Sha256 => sha256,
            HashAlg::Sha384 => sha384,
            HashAlg::Sha512 => sha512,
        };
        UnparsedPublicKey::new(algorithm, key.sec1())
            .verify(message, signature)
            .map_err(|_| InvalidSignature)
    }

    fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey> {
        if key.alg() != self.alg {
            return Err(InvalidKey);
        }
        ParsedPublicKey::new(self.algorithm, key.sec1()).map(|_| ()).map_err(|_| InvalidKey)
    }
}

impl fmt::Debug for Ecdsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ecdsa({})", self.alg)
    }
}

#[derive(Debug)]
struct Sha2;

impl Hasher for Sha2 {
    fn hash(&self, alg: HashAlg, data: &[u8]) -> HashValue {
        let algorithm = match alg {
            HashAlg::Sha256 => &digest::SHA256,
            HashAlg::Sha384 => &digest::SHA384,
            HashAlg::Sha512 => &digest::SHA512,
        };
        HashValue::new(digest::digest(algorithm, data).as_ref())
    }
}
