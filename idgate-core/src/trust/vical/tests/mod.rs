//! The real AAMVA VICAL, in `IDGATE_VECTORS` or next to the repository.

use std::path::{Path, PathBuf};

use super::*;
use crate::crypto::tests::PROVIDER;
use crate::trust::root_file::roots_from_file;

/// 2025-11-19T00:00:00Z: within the VICAL's day.
const THAT_DAY: UnixMillis = UnixMillis::from_secs(1_763_510_400);
/// 2026-11-21T00:00:00Z
const NOW: UnixMillis = UnixMillis::from_secs(1_795_219_200);

fn read(name: &str) -> Option<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors");
    let vectors = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let file = std::fs::read(vectors.join("vical").join(name)).ok();
    if file.is_none() {
        eprintln!("skipped: no vical under IDGATE_VECTORS");
    }
    file
}

fn vical() -> Option<Vec<u8>> {
    read("aamva-vical-2025-11-18.cbor")
}

fn ca(name: &str) -> Vec<TrustAnchor> {
    roots_from_file(&PROVIDER, &read(name).unwrap()).unwrap()
}

#[test]
fn the_aamva_vical_has_its_roots() {
    let Some(file) = vical() else { return };
    for name in ["aamva_ca_root.crt", "aamva_ca_intermediate.crt"] {
        let list = import_vical(&PROVIDER, &file, Some(&ca(name)), false, THAT_DAY).unwrap();
        assert_eq!(list.roots.len(), 14);
        let on = |kind: &str| list.roots.iter().filter(|root| root.key_kind() == kind).count();
        assert_eq!((on("P-256"), on("P-384")), (13, 1));
        assert!(list.certificates.iter().all(|entry| entry.outcome == ListOutcome::Usable));
        for root in &list.roots {
            assert_eq!(root.origin, RootOrigin::Vical);
            assert!(root.serves("org.iso.18013.5.1.mDL"));
            assert!(!root.serves("eu.europa.ec.eudi.pid.1"));
        }
        assert_eq!(list.next_update.unwrap().since(list.signed_at.unwrap()), 86_400_000);
    }
}

#[test]
fn a_stale_vical_is_refused_unless_allowed() {
    let Some(file) = vical() else { return };
    let root = ca("aamva_ca_root.crt");
    let soon = THAT_DAY.plus(2 * 86_400_000);
    let error = import_vical(&PROVIDER, &file, Some(&root), false, soon).unwrap_err();
    assert!(error.0.contains("stale"));
    let list = import_vical(&PROVIDER, &file, Some(&root), true, soon).unwrap();
    assert_eq!(list.roots.len(), 14);
    // Its signer's certificate has expired, so it is refused whatever its date.
    let error = import_vical(&PROVIDER, &file, Some(&root), true, NOW).unwrap_err();
    assert!(error.0.contains("outside its validity period"), "{error}");
}

/// The real VICAL lasts a day, and its signer three months. Without a next update only the validity
/// of its signer counts.
#[test]
fn the_signer_must_be_valid_now_whatever_date_the_vical_has() {
    use idgate_testkit::keys::Curve;
    use idgate_testkit::x509::Identity;
    let file = made(&[(&iaca(), &["org.iso.18013.5.1.mDL"])]);
    let ca = Identity::iaca(Curve::P256, THAT_DAY.0).der;
    let cas = [TrustAnchor::from_der(&PROVIDER, &ca, RootOrigin::RootFile).unwrap()];
    let later = THAT_DAY.plus(3 * 365 * 86_400_000);
    let error = import_vical(&PROVIDER, &file, Some(&cas), false, later).unwrap_err();
    assert!(error.0.contains("outside its validity period"), "{error}");
}

#[test]
fn a_vical_from_the_future_is_refused() {
    let Some(file) = vical() else { return };
    let earlier = THAT_DAY.minus(86_400_000);
    let root = ca("aamva_ca_root.crt");
    let error = import_vical(&PROVIDER, &file, Some(&root), true, earlier).unwrap_err();
    assert!(error.0.contains("future"));
}

#[test]
fn a_signer_under_another_ca_is_refused() {
    let Some(file) = vical() else { return };
    let stranger = import_vical(&PROVIDER, &file, None, false, THAT_DAY).unwrap().roots;
    for cas in [&[][..], &stranger] {
        let error = import_vical(&PROVIDER, &file, Some(cas), false, THAT_DAY).unwrap_err();
        assert!(error.0.contains("not signed under"), "{error}");
    }
}

#[test]
fn one_flipped_byte_is_refused() {
    let Some(file) = vical() else { return };
    let root = ca("aamva_ca_root.crt");
    for at in (0..file.len()).step_by(101).chain([2_700, file.len() - 1]) {
        let mut changed = file.clone();
        changed[at] ^= 1;
        let result = import_vical(&PROVIDER, &changed, Some(&root), true, THAT_DAY);
        // The chain's own root is not needed, so changes of its bytes do not matter.
        let is_beside_path = (2_033..2_650).contains(&at);
        assert!(result.is_err() || is_beside_path, "{at}");
    }
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let Some(file) = vical() else { return };
    for len in (0..file.len()).step_by(97) {
        assert!(import_vical(&PROVIDER, &file[..len], None, true, THAT_DAY).is_err());
    }
    assert!(import_vical(&PROVIDER, &[&file[..], &[0]].concat(), None, true, THAT_DAY).is_err());
    for other in [&b""[..], b"\x84\x40\xa0\x40\x40", b"\x84\x40\xa0\x41\xa0\x40", b"\x30\x00"] {
        assert!(import_vical(&PROVIDER, other, None, true, THAT_DAY).is_err());
    }
}

/// A VICAL by an arbitrary signer, with these roots and their document types.
fn made(infos: &[(&[u8], &[&str])]) -> Vec<u8> {
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::mdoc::{Cbor, rfc3339, sign1};
    use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
    let info = |(root, types): &(&[u8], &[&str])| {
        let types = types.iter().map(|doc_type| (*doc_type).into()).collect();
        Cbor::map([("certificate", Cbor::Bytes(root.to_vec())), ("docType", Cbor::Array(types))])
    };
    let payload = Cbor::map([
        ("version", "1.0".into()),
        ("date", Cbor::tdate(&rfc3339(THAT_DAY.0 - 1000))),
        ("certificateInfos", Cbor::Array(infos.iter().map(info).collect())),
    ]);
    let key = SigningKey::from_seed(Curve::P256, "anybody");
    let ca = Identity::iaca(Curve::P256, THAT_DAY.0);
    let name = Name::new("UN", "Anybody");
    let signer = CertificateBuilder::document_signer(&ca, name, &key, THAT_DAY.0).sign(&ca.key);
    let protected = Cbor::Map(vec![(1.into(), (-7).into())]);
    let chain = Cbor::Map(vec![(33.into(), Cbor::Bytes(signer))]);
    sign1(&key, &protected, chain, &payload.encode(), true).encode()
}

fn iaca() -> Vec<u8> {
    use idgate_testkit::{keys::Curve, x509::Identity};
    Identity::iaca(Curve::P256, THAT_DAY.0).der
}

#[test]
fn without_a_ca_the_signature_is_checked_with_the_certificate_inside() {
    let good = made(&[(&iaca(), &["org.iso.18013.5.1.mDL"])]);
    let list = import_vical(&PROVIDER, &good, None, false, THAT_DAY).unwrap();
    assert_eq!((list.roots.len(), list.signer_is_known), (1, false));
    let mut changed = good.clone();
    let at = good.windows(7).position(|window| window == b"docType").unwrap();
    changed[at] = b'D';
    let error = import_vical(&PROVIDER, &changed, None, false, THAT_DAY).unwrap_err();
    assert!(error.0.contains("does not verify"), "{error}");
}

#[test]
fn a_root_that_is_listed_for_no_type_is_skipped() {
    let vical = made(&[(&iaca(), &[]), (&iaca(), &["org.iso.18013.5.1.mDL"])]);
    let list = import_vical(&PROVIDER, &vical, None, false, THAT_DAY).unwrap();
    assert_eq!((list.roots.len(), list.certificates.len()), (1, 2));
    assert!(matches!(list.certificates[0].outcome, ListOutcome::Unusable(_)));
}
