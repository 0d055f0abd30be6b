//! The real ICAO Master List, in `IDGATE_VECTORS` or next to the repository, and damaged copies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::crypto::SignatureAlgorithm;
use crate::crypto::tests::PROVIDER;

/// 2026-11-21T00:00:00Z
const NOW: UnixMillis = UnixMillis::from_secs(1_795_219_200);

fn list() -> Option<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors");
    let vectors = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let file = std::fs::read(vectors.join("icao-masterlist/icao-ml-2025-07.ml")).ok();
    if file.is_none() {
        eprintln!("skipped: no icao-masterlist under IDGATE_VECTORS");
    }
    file
}

fn unauthenticated(file: &[u8]) -> ImportedList {
    import_master_list(&PROVIDER, file, None, NOW).unwrap()
}

fn root_of(file: &[u8], subject: &str) -> TrustAnchor {
    let roots = unauthenticated(file).roots;
    let of_name = roots.into_iter().filter(|root| root.subject().starts_with(subject));
    of_name.max_by_key(TrustAnchor::not_after).unwrap()
}

/// The signer's root, which the list itself contains, as if the operator had obtained it from the
/// UN.
fn un_root(file: &[u8]) -> TrustAnchor {
    root_of(file, "CN=United Nations CSCA")
}

#[test]
fn the_icao_list_is_read_by_key_kind() {
    let Some(file) = list() else { return };
    let list = unauthenticated(&file);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for certificate in &list.certificates {
        let kind = match &certificate.outcome {
            ListOutcome::Unusable(why) => why.as_str(),
            ListOutcome::Usable => certificate.key_kind.split(' ').next().unwrap(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let expected = BTreeMap::from([
        ("RSA", 364),
        ("P-256", 21),
        ("P-384", 26),
        ("P-521", 17),
        ("brainpoolP256r1", 24),
        ("brainpoolP384r1", 47),
        ("brainpoolP512r1", 19),
        // Two link certificates that could not have signed anything.
        ("has a key usage without keyCertSign", 1),
        ("is not a CA", 1),
    ]);
    assert_eq!(kinds, expected);
    assert_eq!(list.roots.len(), 518);
}

#[test]
fn expired_certificates_are_imported_and_reported() {
    let Some(file) = list() else { return };
    let list = unauthenticated(&file);
    assert_eq!(list.certificates.len(), 520);
    assert_eq!(list.certificates.iter().filter(|entry| entry.expired).count(), 142);
    let expired = list.roots.iter().filter(|root| !root.is_valid_at(NOW)).count();
    assert_eq!(expired, 142);
}

/// When the list of the vectors was signed: 2025-07-23T14:13:21Z. Its signer's certificate has
/// since expired.
const SIGNED: UnixMillis = UnixMillis(1_753_280_001_000);

#[test]
fn the_signer_leads_to_the_operators_root() {
    let Some(file) = list() else { return };
    let root = un_root(&file);
    let list = import_master_list(&PROVIDER, &file, Some(&[root]), SIGNED).unwrap();
    assert_eq!(list.roots.len(), 518);
    assert_eq!(list.signed_at, Some(SIGNED));
}

#[test]
fn a_signer_under_another_root_is_refused() {
    let Some(file) = list() else { return };
    let other = root_of(&file, "CN=China Passport");
    for cas in [&[][..], &[other]] {
        let error = import_master_list(&PROVIDER, &file, Some(cas), NOW).unwrap_err();
        assert!(error.0.contains("not signed under"), "{error}");
    }
}

#[test]
fn one_flipped_byte_is_refused() {
    let Some(file) = list() else { return };
    let root = [un_root(&file)];
    for at in [10_000, 400_000, 782_000, file.len() - 1, file.len() - 300] {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(import_master_list(&PROVIDER, &changed, Some(&root), NOW).is_err(), "{at}");
    }
}

#[test]
fn a_list_has_at_most_8192_certificates() {
    use idgate_testkit::keys::Curve;
    use idgate_testkit::master_list::{MasterList, master_list_signer};
    use idgate_testkit::x509::Identity;
    let signer = master_list_signer(&Identity::iaca(Curve::P256, NOW.0), NOW.0);
    let list = |count| MasterList::new(&vec![&b"\x30\0"[..]; count], NOW.0 - 1000).sign(&signer);
    assert_eq!(unauthenticated(&list(8192)).certificates.len(), 8192);
    let error = import_master_list(&PROVIDER, &list(8193), None, NOW).unwrap_err();
    assert!(error.0.contains("8192"), "{error}");
}

#[test]
fn without_a_ca_digest_and_signature_are_checked_with_the_certificate_inside() {
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::master_list::{MasterList, master_list_signer};
    use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

    let key = SigningKey::from_seed(Curve::P256, "anybody");
    let ca = CertificateBuilder::iaca_root(Name::new("UN", "Anybody"), &key, NOW.0);
    let ca = ca.self_sign(&key);
    let root = Identity::iaca(Curve::P256, NOW.0).der;
    let signer = master_list_signer(&ca, NOW.0);
    let good = MasterList::new(&[&root], NOW.0 - 1000).sign(&signer);
    let list = unauthenticated(&good);
    assert_eq!((list.roots.len(), list.signer_is_known), (1, false));
    let cas = [TrustAnchor::from_der(&PROVIDER, &ca.der, RootOrigin::RootFile).unwrap()];
    assert!(import_master_list(&PROVIDER, &good, Some(&cas), NOW).unwrap().signer_is_known);

    let refused = |file: &[u8], why: &str| {
        let error = import_master_list(&PROVIDER, file, None, NOW).unwrap_err();
        assert!(error.0.contains(why), "{error}");
    };
    let at = good.windows(root.len()).position(|window| window == root).unwrap();
    let mut changed = good.clone();
    changed[at + root.len() / 2] ^= 1;
    refused(&changed, "did not sign");
    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    refused(&changed, "does not verify");
    // Signed by another key than that of its certificate.
    let forger = Identity { key: SigningKey::from_seed(Curve::P256, "forger"), ..signer };
    refused(&MasterList::new(&[&root], NOW.0 - 1000).sign(&forger), "does not verify");
    let ahead = MasterList::new(&[&root], NOW.0 + 1000);
    refused(&ahead.sign(&master_list_signer(&ca, NOW.0)), "future");
}

/// Anyone with a leaked key of an expired certificate could sign, and claim an earlier time.
#[test]
fn the_signer_must_be_valid_now_whatever_signing_time_it_claims() {
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::master_list::{MasterList, master_list_signer};
    use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

    let key = SigningKey::from_seed(Curve::P256, "list CA");
    let ca = CertificateBuilder::iaca_root(Name::new("UN", "List CA"), &key, NOW.0).self_sign(&key);
    let cas = [TrustAnchor::from_der(&PROVIDER, &ca.der, RootOrigin::RootFile).unwrap()];
    let root = Identity::iaca(Curve::P256, NOW.0).der;
    let file = MasterList::new(&[&root], NOW.0 - 1000).sign(&master_list_signer(&ca, NOW.0));
    assert!(import_master_list(&PROVIDER, &file, Some(&cas), NOW).is_ok());
    let later = NOW.plus(3 * 365 * 86_400_000);
    let error = import_master_list(&PROVIDER, &file, Some(&cas), later).unwrap_err();
    assert!(error.0.contains("outside its validity period"), "{error}");
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let Some(file) = list() else { return };
    for len in (0..file.len()).step_by(4099) {
        assert!(import_master_list(&PROVIDER, &file[..len], None, NOW).is_err());
    }
    assert!(import_master_list(&PROVIDER, &[&file[..], &[0]].concat(), None, NOW).is_err());
    for other in [&b""[..], b"\x30\x00", b"-----BEGIN CMS-----"] {
        assert!(import_master_list(&PROVIDER, other, None, NOW).is_err());
    }
}

/// Hundreds of certificates are read and hashed, but only the list's own signatures are verified:
/// one signature check for each certificate would take more than 30 million steps.
#[cfg(all(feature = "counting", feature = "aws-lc-rs"))]
#[test]
fn import_verifies_the_lists_signatures_but_not_those_of_its_certificates() {
    let Some(file) = list() else { return };
    let root = [un_root(&file)];
    let before = crate::work::counted();
    let provider = crate::crypto::counting::PROVIDER;
    let list = import_master_list(&provider, &file, Some(&root), SIGNED).unwrap();
    let steps = crate::work::counted().wrapping_sub(before);
    assert!(list.roots.len() > 500 && steps < 10_000_000, "{steps}");
}

/// Every kind of key and signature in real certificates. A self-signed certificate verifies with
/// its own key, except with SHA-1; one that another key signed does not.
#[test]
fn self_signed_certificates_verify_with_their_own_key() {
    let Some(file) = list() else { return };
    let mut verified: BTreeMap<String, usize> = BTreeMap::new();
    for root in unauthenticated(&file).roots {
        let certificate = Certificate::parse(root.der()).unwrap();
        let subject_key = certificate.subject_key_identifier();
        let is_own = certificate.authority_key_identifier().is_none_or(|a| subject_key == Some(a));
        let is_self_signed =
            is_own && certificate.issuer().as_raw() == certificate.subject().as_raw();
        let algorithm = certificate.signature_algorithm();
        let outcome = certificate.verify(&PROVIDER, &certificate.key().unwrap());
        assert_eq!(outcome.is_ok(), is_self_signed && algorithm.is_some(), "{root:?}");
        if outcome.is_ok() {
            let scheme = match algorithm {
                Some(SignatureAlgorithm::RsaPss { .. }) => "PSS",
                Some(SignatureAlgorithm::RsaPkcs1(_)) => "PKCS1",
                _ => "ECDSA",
            };
            let kind = root.key_kind();
            let kind = kind.split(' ').next().unwrap();
            *verified.entry(format!("{kind} {scheme}")).or_default() += 1;
        }
    }
    let count = |kind: &str| verified.get(kind).copied().unwrap_or_default();
    assert_eq!(count("RSA PKCS1") + count("RSA PSS"), 223);
    assert!(count("RSA PSS") > 50, "{verified:?}");
    assert_eq!((count("P-256 ECDSA"), count("P-384 ECDSA"), count("P-521 ECDSA")), (12, 15, 10));
    let brainpool = ["P256r1", "P384r1", "P512r1"];
    assert_eq!(brainpool.map(|curve| count(&format!("brainpool{curve} ECDSA"))), [9, 28, 12]);
}

#[test]
fn both_back_ends_agree() {
    #[cfg(all(feature = "aws-lc-rs", feature = "rustcrypto"))]
    if let Some(file) = list() {
        let other = crate::crypto::rustcrypto::PROVIDER;
        for root in unauthenticated(&file).roots {
            let certificate = Certificate::parse(root.der()).unwrap();
            let key = certificate.key().unwrap();
            if key.nist().is_some() {
                let outcome = certificate.verify(&PROVIDER, &key);
                assert_eq!(outcome, certificate.verify(&other, &key), "{root:?}");
            }
        }
    }
}
