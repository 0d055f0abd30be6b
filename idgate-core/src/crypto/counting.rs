//! AWS-LC's provider, with the work of each call counted as steps.

use core::cell::Cell;

use crate::crypto::aws_lc_rs::PROVIDER as OWN;
use crate::crypto::{
    Alg, BrainpoolKey, CertificateVerifier, ContentCipher, CryptoProvider, DecryptionFailed,
    EcdhPrivateKey, HashAlg, HashValue, Hasher, InvalidKey, InvalidSignature, KeyAgreement,
    PublicKey, RsaKey, RsaScheme, SharedSecret, SignatureVerifier,
};
use crate::work::steps;

/// The approximate cost of a verification or an agreement on P-256.
const ASYMMETRIC: usize = 60_000;
/// The cost of checking that a point is on its curve.
const POINT: usize = 8_000;
/// RSA of 2048 bits and the brainpool curves have no assembly code.
const PORTABLE: usize = 500_000;
/// The fixed cost of a hash.
const HASH: usize = 100;

/// Verifies and hashes as AWS-LC's provider does, and counts the work.
pub const PROVIDER: CryptoProvider = CryptoProvider {
    name: OWN.name,
    verifiers: &[&Verifier(Alg::Es256), &Verifier(Alg::Es384), &Verifier(Alg::Es512)],
    hasher: &Counting,
    agreement: &Counting,
    content_cipher: &Counting,
    certificate_verifier: &Counting,
};

std::thread_local! {
    static VERIFIED: Cell<usize> = const { Cell::new(0) };
}

/// The ES256, ES384 and ES512 signatures that this thread verified so far, including those on
/// certificates.
pub fn verified() -> usize {
    VERIFIED.get()
}

#[derive(Debug)]
struct Verifier(Alg);

impl Verifier {
    fn own(&self) -> Result<&'static dyn SignatureVerifier, InvalidSignature> {
        OWN.verifier(self.0).ok_or(InvalidSignature)
    }

    fn count(message: &[u8]) {
        VERIFIED.set(VERIFIED.get().wrapping_add(1));
        steps(ASYMMETRIC + message.len());
    }
}

impl SignatureVerifier for Verifier {
    fn alg(&self) -> Alg {
        self.0
    }

    fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        Self::count(message);
        self.own()?.verify(key, message, signature)
    }

    fn verify_x509(
        &self,
        key: &PublicKey,
        hash: HashAlg,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        Self::count(message);
        self.own()?.verify_x509(key, hash, message, signature)
    }

    fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey> {
        steps(POINT);
        self.own().map_err(|_| InvalidKey)?.check_key(key)
    }
}

#[derive(Debug)]
struct Counting;

impl Hasher for Counting {
    fn hash(&self, alg: HashAlg, data: &[u8]) -> HashValue {
        steps(HASH + data.len());
        OWN.hasher.hash(alg, data)
    }
}

impl KeyAgreement for Counting {
    fn ecdh(
        &self,
        private: &EcdhPrivateKey,
        public: &PublicKey,
    ) -> Result<SharedSecret, InvalidKey> {
        steps(ASYMMETRIC);
        OWN.agreement.ecdh(private, public)
    }

    fn public_key(&self, private: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey> {
        steps(ASYMMETRIC);
        OWN.agreement.public_key(private)
    }

    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        steps(4 * HASH + data.len());
        OWN.agreement.hmac_sha256(key, data)
    }
}

impl ContentCipher for Counting {
    fn open_gcm(
        &self,
        key: &[u8],
        iv: &[u8; 12],
        aad: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        steps(HASH + aad.len() + sealed.len());
        OWN.content_cipher.open_gcm(key, iv, aad, sealed)
    }

    fn open_cbc(
        &self,
        key: &[u8; 16],
        iv: &[u8; 16],
        in_out: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        steps(HASH + in_out.len());
        OWN.content_cipher.open_cbc(key, iv, in_out)
    }
}

impl CertificateVerifier for Counting {
    fn verify_rsa(
        &self,
        key: &RsaKey,
        scheme: RsaScheme,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // Multiplying numbers of twice the length takes four times as long.
        let lengths = usize::try_from(key.bits() / 1024).unwrap_or(usize::MAX);
        steps(PORTABLE / 4 * lengths * lengths);
        OWN.certificate_verifier.verify_rsa(key, scheme, hash, signature)
    }

    fn verify_brainpool(
        &self,
        key: &BrainpoolKey,
        hash: &HashValue,
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        steps(PORTABLE);
        OWN.certificate_verifier.verify_brainpool(key, hash, signature)
    }
}
