use alloc::string::ToString as _;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::x509::{CertificateBuilder, Name};

use super::*;
use crate::crypto::RequestSigner as _;

fn key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "signer")
}

#[test]
fn a_key_of_pkcs_8_signs_under_the_did_or_under_its_certificate() {
    let key = key();
    let signer = SoftwareSigner::from_pem(key.private_pem().as_bytes()).unwrap();
    assert_eq!(signer.public_key().sec1(), key.public_sec1());

    let under = signer.clone().under_did("https://gateway.example:8443").unwrap();
    let fragment = under.key_id().strip_prefix("did:web:gateway.example%3A8443#").unwrap();
    assert_eq!(fragment, signer.key_id());
    assert!(signer.clone().under_did("gateway.example").is_err());

    let name = Name::new("UT", "shop");
    let identity = CertificateBuilder::issuer_root(name, &key, 1_795_000_000_000).self_sign(&key);
    for file in [pem("CERTIFICATE", &identity.der).into_bytes(), identity.der.clone()] {
        let certified = signer.clone().certified(&file).unwrap();
        assert_eq!(certified.certificate_chain(), core::slice::from_ref(&identity.der));
    }
    let name = Name::new("UT", "shop");
    let renewed = CertificateBuilder::issuer_root(name, &key, 1_796_000_000_000).self_sign(&key);
    let [first, second] =
        [&identity, &renewed].map(|one| signer.clone().certified(&one.der).unwrap());
    assert_ne!(
        first.key_id(),
        second.key_id(),
        "a session distinguishes a certificate from its renewal"
    );
    assert!(signer.certified(b"no certificate").is_err());
}

#[test]
fn a_file_that_is_not_one_key_on_p_256_is_refused_without_quoting_it() {
    let other = SigningKey::from_seed(Curve::P384, "signer").private_pem();
    let encrypted = pem("ENCRYPTED PRIVATE KEY", &[1, 2, 3]);
    let broken = pem("PRIVATE KEY", &[0x30, 3, 2, 1, 0]);
    let files: [&[u8]; 6] =
        [b"", b"\xff", b"hunter2", other.as_bytes(), encrypted.as_bytes(), broken.as_bytes()];
    for bad in files {
        let error = SoftwareSigner::from_pem(bad).unwrap_err().to_string();
        assert!(error.starts_with("the file of the signer is "), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
