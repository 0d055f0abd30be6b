//! Certificates, CRLs, and lists of roots.

use idgate_core::UnixMillis;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{
    ImportedList, RootOrigin, TrustAnchor, VerifiedCrl, import_master_list, import_vical,
    is_valid_rfc5280_path, roots_from_file,
};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::master_list::{MasterList, master_list_signer};
use idgate_testkit::mdoc::{Cbor, MDL, rfc3339, sign1};
use idgate_testkit::status::Crl;
use idgate_testkit::time::compact_utc;
use idgate_testkit::x509::{
    CertificateBuilder, EXT_KEY_USAGE, Identity, Name, ext_key_usage, key_identifier,
};

use super::{NOW_MS, Parts};

const NOW: UnixMillis = UnixMillis(NOW_MS);

/// Only certificates that the root signed have a path.
pub(super) fn x5chain_target() -> Parts {
    let root = root();
    let anchors = [anchor(&root)];
    let seeds = vec![root.document_signer(Curve::P256, NOW_MS).der, root.der];
    let good = seeds.clone();
    let check = move |leaf: &[u8]| {
        let valid = is_valid_rfc5280_path(&PROVIDER, leaf, &[], &anchors, 0, NOW);
        assert_eq!(valid, good.iter().any(|good| good == leaf));
        drop(roots_from_file(&PROVIDER, leaf));
    };
    (seeds, Box::new(check))
}

/// Only the CRL that the root signed is accepted.
pub(super) fn crl_target() -> Parts {
    let root = root();
    let (this, next) = (compact_utc(NOW_MS - 1000), compact_utc(NOW_MS + 86_400_000));
    let identifier = key_identifier(&root.key);
    let list = Crl::new(&root.builder.subject.der(), &identifier, &this, &next).revoke(&[7]);
    let (good, anchors) = (list.sign(&root.key), [anchor(&root)]);
    let taken = move |der: &[u8]| VerifiedCrl::from_der(&PROVIDER, der, &anchors).is_ok();
    assert!(taken(&good));
    let seeds = vec![good.clone()];
    (seeds, Box::new(move |der| assert!(der == good || !taken(der))))
}

/// Any list that is still accepted has the same roots. Without a signer CA any result is allowed,
/// except a panic.
pub(super) fn master_list_target() -> Parts {
    let (ca, root) = (list_ca(), root());
    let list = MasterList::new(&[&root.der, &ca.der], NOW_MS - 1000);
    let good = list.sign(&master_list_signer(&ca, NOW_MS));
    let cas = [anchor(&ca)];
    let expected = roots(&import_master_list(&PROVIDER, &good, Some(&cas), NOW).unwrap());
    assert_eq!(expected.len(), 2);
    let check = move |file: &[u8]| {
        drop(import_master_list(&PROVIDER, file, None, NOW));
        let taken = import_master_list(&PROVIDER, file, Some(&cas), NOW);
        assert!(taken.is_err() || taken.is_ok_and(|list| roots(&list) == expected));
    };
    (vec![good], Box::new(check))
}

/// The same for a VICAL.
pub(super) fn vical_target() -> Parts {
    let (ca, root) = (list_ca(), root());
    let info = Cbor::map([
        ("certificate", Cbor::Bytes(root.der)),
        ("docType", Cbor::Array(vec![MDL.into()])),
    ]);
    let payload = Cbor::map([
        ("version", "1.0".into()),
        ("date", Cbor::tdate(&rfc3339(NOW_MS - 1000))),
        ("certificateInfos", Cbor::Array(vec![info])),
    ]);
    let key = SigningKey::from_seed(Curve::P256, "vical signer");
    let signer = CertificateBuilder::document_signer(&ca, Name::new("UN", "Signer"), &key, NOW_MS)
        .set(EXT_KEY_USAGE, true, ext_key_usage(&["1.0.18013.5.1.8"]))
        .sign(&ca.key);
    let protected = Cbor::Map(vec![(1.into(), (-7).into())]);
    let chain = Cbor::Map(vec![(33.into(), Cbor::Bytes(signer))]);
    let good = sign1(&key, &protected, chain, &payload.encode(), true).encode();
    let cas = [anchor(&ca)];
    let import =
        |file: &[u8], cas: Option<&[TrustAnchor]>| import_vical(&PROVIDER, file, cas, false, NOW);
    let expected = roots(&import(&good, Some(&cas[..])).unwrap());
    assert_eq!(expected.len(), 1);
    let check = move |file: &[u8]| {
        drop(import(file, None));
        let taken = import(file, Some(&cas[..]));
        assert!(taken.is_err() || taken.is_ok_and(|list| roots(&list) == expected));
    };
    (vec![good], Box::new(check))
}

fn root() -> Identity {
    Identity::iaca(Curve::P256, NOW_MS)
}

fn list_ca() -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "list CA");
    CertificateBuilder::iaca_root(Name::new("UN", "List CA"), &key, NOW_MS).self_sign(&key)
}

fn anchor(root: &Identity) -> TrustAnchor {
    TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap()
}

fn roots(list: &ImportedList) -> Vec<[u8; 32]> {
    list.roots.iter().map(TrustAnchor::sha256).collect()
}
