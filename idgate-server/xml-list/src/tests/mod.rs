//! Lists that the tests make, sign and change.

mod canonical;
mod content;
mod corpus;
mod dss;
mod list_of_lists;
mod order;
mod refusals;
mod rsa;
mod shape;
mod xmlsec;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListAnchors, ListRules, TrustedList, TrustedListError, TrustedListErrorKind,
};
use idgate_core::trust::ListType;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::trusted_list::list_signer;
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, Identity, KEY_USAGE, Name, basic_constraints, key_usage,
};
use idgate_testkit::xml_list::{
    GRANTED, INCLUSIVE, PAA, XmlKind, XmlList, XmlSigner, provider, service,
};

use crate::{import_trusted_list, recall};

/// 2026-11-22T00:00:00Z
const NOW: UnixMillis = UnixMillis(1_795_305_600_000);

/// Texts that may be in front of a list.
const BEFORE_THE_ROOT: [&str; 4] = [
    "\u{feff}",
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n",
    "\u{feff}<?xml version='1.0' encoding='UTF-8' standalone='no'?>",
    "<?xml version=\"1.0\"?><!-- made by hand -->",
];

fn signer() -> Identity {
    list_signer(NOW.0)
}

/// A signer with a key on this curve.
fn signer_on(curve: Curve) -> Identity {
    let key = SigningKey::from_seed(curve, "list signer");
    let name = Name::new("BE", "List signer");
    CertificateBuilder::new(name.clone(), name, &key, NOW.0, 100)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))
        .set(KEY_USAGE, true, key_usage(0b1000_0000))
        .self_sign(&key)
}

fn issuer() -> Identity {
    Identity::iaca(Curve::P256, NOW.0)
}

/// The age list, with one provider.
fn age_list() -> XmlList {
    let services = [service(PAA, GRANTED, &[&issuer().der])];
    XmlList::new(XmlKind::Age, NOW.0).with(provider("Ages", "NTRUT-1", "UT", &services))
}

fn signed_at() -> String {
    age_list().issued
}

/// Imports a list that `anchors` may sign.
fn import_with(file: &str, anchors: &[u8]) -> Result<TrustedList, TrustedListError> {
    let anchors = ListAnchors::from_file(&PROVIDER, anchors).unwrap();
    import_trusted_list(&PROVIDER, file.as_bytes(), &ListRules::new(&anchors), NOW)
}

fn import(file: &str) -> Result<TrustedList, TrustedListError> {
    import_with(file, &signer().der)
}

#[track_caller]
fn assert_refused(file: &str, why: &str) {
    let refused = import(file).unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
}

#[track_caller]
fn assert_not_authentic(file: &str, why: &str) {
    let refused = import(file).unwrap_err();
    assert!(refused.to_string().contains(why), "{refused}");
    assert_eq!(refused.kind, TrustedListErrorKind::NotAuthentic, "{refused}");
}

#[test]
fn a_signed_age_list_is_accepted() {
    let list = import(&age_list().sign(&signer())).unwrap();
    assert_eq!((list.list_type, list.sequence), (ListType::Av, 7));
    assert_eq!(list.operator, "Example Operator");
    assert_eq!(list.signer.signed_at, Some(list.issued_at));
    assert!(list.signer.is_known);
    let [one] = list.providers.as_slice() else { panic!("{list:?}") };
    assert_eq!(one.provider.name, "Ages");
    assert_eq!(one.provider.identifiers, ["NTRUT-1"]);
    assert_eq!(one.provider.country.as_deref(), Some("UT"));
    assert_eq!(one.services[0].roots()[0].der(), issuer().der);
}

#[test]
fn both_signature_transforms_and_both_canonical_forms_are_accepted() {
    let (signer, at) = (signer(), signed_at());
    let text = age_list().text();
    for by_xpath in [true, false] {
        for method in [idgate_testkit::xml_list::EXCLUSIVE, INCLUSIVE] {
            let with = XmlSigner { by_xpath, method, ..XmlSigner::of(&signer, &at) };
            let read = import(&with.sign(&text));
            assert!(read.is_ok(), "{by_xpath} {method}: {read:?}");
        }
    }
}

#[test]
fn a_list_is_signed_by_ecdsa_on_the_three_curves() {
    for curve in [Curve::P256, Curve::P384, Curve::P521] {
        let signer = signer_on(curve);
        let taken = import_with(&age_list().sign(&signer), &signer.der);
        assert!(taken.is_ok(), "{}: {taken:?}", curve.name());
    }
}

#[test]
fn a_list_without_certificates_is_verified_with_an_anchor() {
    let (signer, at) = (signer(), signed_at());
    let text = age_list().text();
    let bare = XmlSigner { chain: Vec::new(), ..XmlSigner::of(&signer, &at) };
    let file = bare.sign(&text);
    assert!(import(&file).is_ok());
    // The signed properties name one of several anchors.
    let both = [signer.der.clone(), issuer().der].concat();
    assert!(import_with(&file, &both).is_ok());
    let unnamed = XmlSigner { named: None, ..bare }.sign(&text);
    assert!(import(&unnamed).is_ok());
    let refused = import_with(&unnamed, &both).unwrap_err();
    assert!(refused.to_string().contains("lacks the certificate of its signer"), "{refused}");
}

#[test]
fn a_byte_order_mark_and_an_xml_declaration_may_come_first() {
    let file = age_list().sign(&signer());
    for before in BEFORE_THE_ROOT {
        assert!(import(&format!("{before}{file}")).is_ok(), "{before}");
    }
}

#[test]
fn a_stored_list_is_read_again_after_it_expired() {
    let file = age_list().sign(&signer());
    let taken = import(&file).unwrap();
    let later = NOW.plus(400 * 24 * 3600 * 1000);
    let again = recall(&PROVIDER, file.as_bytes(), (Some(ListType::Av), None), later).unwrap();
    assert_eq!(again.payload_sha256, taken.payload_sha256);
    assert_eq!(again.providers.len(), 1);
}

#[test]
fn a_list_in_json_is_read_as_json() {
    use idgate_testkit::trusted_list::{Kind, TrustedList as Made};
    let token = Made::new(Kind::Pid, NOW.0).sign(&signer());
    assert_eq!(import(&token).unwrap().list_type, ListType::Pid);
    let again = recall(&PROVIDER, token.as_bytes(), (None, None), NOW).unwrap();
    assert_eq!(again.list_type, ListType::Pid);
}

/// The copy in the reference verifier was reformatted after it was signed, so it must be refused.
#[test]
fn the_published_age_list_is_refused_only_for_its_digest() {
    let Some(vectors) = std::env::var_os("IDGATE_VECTORS") else { return };
    let file = std::path::Path::new(&vectors).join("eu-av/av-etsi-trusted-list.xml");
    let Ok(file) = std::fs::read_to_string(file) else { return };
    assert_not_authentic(&file, "is not what was signed: the digest of its list differs");
}
