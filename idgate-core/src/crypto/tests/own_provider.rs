//! The caller's own provider is used for everything that it supports.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::crypto::certificate_keys::{BrainpoolKey, CertificateVerifier, RsaKey, RsaScheme};
use crate::crypto::hash::{HashAlg, HashValue};
use crate::crypto::issuer_key::IssuerKey;
use crate::crypto::provider::{CryptoProvider, Hasher, InvalidSignature};
use crate::crypto::rustcrypto::PROVIDER;
use crate::crypto::x509_sig::SignatureAlgorithm;

/// The base point of brainpoolP256r1 (RFC 5639 3.4).
const BRAINPOOL_P256R1_BASE: [u8; 65] = *b"\x04\
    \x8b\xd2\xae\xb9\xcb\x7e\x57\xcb\x2c\x4b\x48\x2f\xfc\x81\xb7\xaf\
    \xb9\xde\x27\xe1\xe3\xbd\x23\xc2\x3a\x44\x53\xbd\x9a\xce\x32\x62\
    \x54\x7e\xf8\x35\xc3\xda\xc4\xfd\x97\xf8\x46\x1a\x14\x61\x1d\xc9\
    \xc2\x77\x45\x13\x2d\xed\x8e\x54\x5c\x1d\x54\xc7\x2f\x04\x69\x97";
const OWN_HASH: [u8; 32] = [7; 32];

/// Accepts everything with its own hash, and counts the calls.
#[derive(Debug)]
struct Own {
    hashes: AtomicU32,
    rsa: AtomicU32,
    brainpool: AtomicU32,
}

impl Own {
    const fn new() -> Self {
        let (hashes, rsa, brainpool) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        Self { hashes, rsa, brainpool }
    }
}

impl Hasher for Own {
    fn hash(&self, _: HashAlg, _: &[u8]) -> HashValue {
        self.hashes.fetch_add(1, Relaxed);
        HashValue::new(&OWN_HASH)
    }
}

impl CertificateVerifier for Own {
    fn verify_rsa(
        &self,
        _: &RsaKey,
        _: RsaScheme,
        hash: &HashValue,
        _: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.rsa.fetch_add(1, Relaxed);
        if hash.as_bytes() == OWN_HASH { Ok(()) } else { Err(InvalidSignature) }
    }

    fn verify_brainpool(
        &self,
        _: &BrainpoolKey,
        hash: &HashValue,
        _: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.brainpool.fetch_add(1, Relaxed);
        if hash.as_bytes() == OWN_HASH { Ok(()) } else { Err(InvalidSignature) }
    }
}

#[test]
fn hashes_rsa_and_brainpool_use_the_callers_provider() {
    static OWN: Own = Own::new();
    let provider = CryptoProvider { hasher: &OWN, certificate_verifier: &OWN, ..PROVIDER };
    let counted = || [&OWN.hashes, &OWN.rsa, &OWN.brainpool].map(|count| count.load(Relaxed));
    assert_eq!((provider.sha256(b"x"), counted()), (OWN_HASH, [1, 0, 0]));
    let key = RsaKey::new(&[0xff; 256], &[1, 0, 1]).unwrap();
    let rsa = IssuerKey::Rsa { key, pss_only: false };
    for (algorithm, expected) in [
        (SignatureAlgorithm::RsaPkcs1(HashAlg::Sha256), [2, 1, 0]),
        (SignatureAlgorithm::RsaPss { hash: HashAlg::Sha512, salt_len: 64 }, [3, 2, 0]),
    ] {
        assert_eq!(rsa.verify(&provider, algorithm, b"message", b"signature"), Ok(()));
        assert_eq!(counted(), expected, "{algorithm:?}");
    }
    let key = BrainpoolKey::p256r1(&BRAINPOOL_P256R1_BASE).unwrap();
    let algorithm = SignatureAlgorithm::Ecdsa(HashAlg::Sha384);
    let verified = IssuerKey::Brainpool(key).verify(&provider, algorithm, b"message", b"");
    assert_eq!((verified, counted()), (Ok(()), [4, 2, 1]));
}
