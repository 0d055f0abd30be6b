//! Cryptography that counts the signatures that it verifies.

use std::cell::Cell;

use idgate_core::crypto::aws_lc_rs;
use idgate_core::crypto::{
    Alg, CryptoProvider, HashAlg, InvalidKey, InvalidSignature, PublicKey, SignatureVerifier,
};

/// What [`aws_lc_rs::PROVIDER`] does.
pub(super) const PROVIDER: CryptoProvider = CryptoProvider {
    verifiers: &[&Counting(Alg::Es256), &Counting(Alg::Es384)],
    ..aws_lc_rs::PROVIDER
};

thread_local! {
    static VERIFIED: Cell<usize> = const { Cell::new(0) };
}

/// How many signatures `work` verifies, those of certificates among them.
pub(super) fn verified_in(work: impl FnOnce()) -> usize {
    let before = VERIFIED.get();
    work();
    VERIFIED.get() - before
}

#[derive(Debug)]
struct Counting(Alg);

impl Counting {
    fn counted(&self) -> &'static dyn SignatureVerifier {
        VERIFIED.set(VERIFIED.get() + 1);
        self.inner()
    }

    fn inner(&self) -> &'static dyn SignatureVerifier {
        aws_lc_rs::PROVIDER.verifier(self.0).unwrap()
    }
}

impl SignatureVerifier for Counting {
    fn alg(&self) -> Alg {
        self.0
    }

    fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.counted().verify(key, message, signature)
    }

    fn verify_x509(
        &self,
        key: &PublicKey,
        hash: HashAlg,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.counted().verify_x509(key, hash, message, signature)
    }

    fn check_key(&self, key: &PublicKey) -> Result<(), InvalidKey> {
        self.inner().check_key(key)
    }
}
