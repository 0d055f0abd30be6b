//! Lists end to end: our own worked examples byte by byte, and lists made by the tests.

mod joined;
mod judgement;
mod mapping;
mod places;
mod refusals;

use alloc::format;
use alloc::vec::Vec;

use idgate_testkit::trusted_list::{Kind, TrustedList as Made, list_ca, list_signer};
use idgate_testkit::x509::Identity;

use super::*;
use crate::codec::base64url;
use crate::crypto::tests::PROVIDER;
use crate::ids::{DocType, IssuerId};
use crate::trust::TrustEntry;
use crate::trust::anchors::TrustAnchor;
use crate::trust::listing::ListProfile;

/// 2026-11-22T00:00:00Z
const NOW: UnixMillis = UnixMillis(1_795_305_600_000);

const HEADER: &str = include_str!("header.json");
const PID: &str = include_str!("pid.json");
const MDL: &str = include_str!("mdl.json");

fn token(header: &str, payload: &str, signature: &str) -> String {
    let (header, payload) =
        (base64url::encode(header.as_bytes()), base64url::encode(payload.as_bytes()));
    format!("{header}.{payload}.{signature}")
}

fn example_a() -> String {
    let signature =
        "yFDU7iI3NE_Gqs648UpvKZpoCAfuG6NK0lpSlX91XWuniDLiPNwevsmAHWHjbSvk81iVQ_pJ9ktdXUfDPS7xzQ";
    token(HEADER, PID, signature)
}

fn example_a2() -> String {
    let header =
        HEADER.replace(r#""iat":1795132800"#, r#""crit":["sigT"],"sigT":"2026-11-20T00:00:00Z""#);
    let signature =
        "fcSxWdD7OcutcO3g5afiBtpGz27xvh46alQDBUdTJJ7dAEINKnAbGc-q_Ma0N6kspJ2jRZ37uUg9EL1hhL3YLw";
    token(&header, PID, signature)
}

fn example_b() -> String {
    let signature =
        "JyWuyVardlBTGQNoMhOyvAcPyQGXRv0rPZZnjwLLtWzHRLIRHnccGqeo9MyzZ3jsSWlpZ7amG95JMlsrtX0qAA";
    token(HEADER, MDL, signature)
}

/// The certificate in the examples' header.
fn example_anchor() -> ListAnchors {
    let mut tape = Tape::default();
    let id = tape.parse(HEADER.as_bytes()).unwrap();
    let chain = crate::jose::x5c(tape.value(id)).unwrap().unwrap();
    ListAnchors::from_file(&PROVIDER, &chain[0]).unwrap()
}

fn anchors(certificates: &[&Identity]) -> ListAnchors {
    let file: Vec<u8> = certificates.iter().flat_map(|one| one.der.clone()).collect();
    ListAnchors::from_file(&PROVIDER, &file).unwrap()
}

fn made(kind: Kind) -> Made {
    Made::new(kind, NOW.0)
}

/// Imported with the sample signer as anchor.
fn import(file: &str) -> Result<TrustedList, TrustedListError> {
    let anchors = anchors(&[&list_signer(NOW.0)]);
    import_trusted_list(&PROVIDER, file.as_bytes(), &ListRules::new(&anchors), NOW)
}

fn import_made(list: &Made) -> Result<TrustedList, TrustedListError> {
    import(&list.sign(&list_signer(NOW.0)))
}

fn fed(list: &TrustedList, terms: &ListTerms) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    entry.take_list(list, terms);
    entry
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256s(roots: &[TrustAnchor]) -> Vec<String> {
    roots.iter().map(|root| hex(&root.sha256()[..8])).collect()
}

#[test]
fn example_a_gives_a_pid_root_and_a_status_root_of_its_provider() {
    for example in [example_a(), example_a2(), example_a() + "\n"] {
        let anchor = example_anchor();
        let rules = ListRules::new(&anchor);
        let list = import_trusted_list(&PROVIDER, example.as_bytes(), &rules, NOW).unwrap();
        assert_eq!((list.list_type, list.sequence), (ListType::Pid, 7));
        assert_eq!((list.ignored_members, list.warnings.len()), (0, 0));
        assert_eq!(list.signer.organization.as_deref(), Some("Example Operator"));
        let entry = fed(&list, &ListTerms::default());
        assert_eq!(entry.vct, ["urn:eudi:pid:1"]);
        assert_eq!(entry.doc_types, [DocType::new("eu.europa.ec.eudi.pid.1")]);
        assert_eq!(sha256s(&entry.roots), ["7c121f1140dd04f5"]);
        assert_eq!(sha256s(&entry.sd_jwt_roots), ["7c121f1140dd04f5"]);
        assert_eq!(sha256s(&entry.status_roots), ["52974d358ed1d03c"]);
        assert!(entry.roots[0].serves("eu.europa.ec.eudi.pid.1"));
        assert!(!entry.roots[0].serves("org.iso.18013.5.1.mDL"));
        let provider = entry.roots[0].providers().next().unwrap();
        assert_eq!(provider.identifier(), Some("NTRLU-B1"));
        assert_eq!((&*provider.name, provider.country.as_deref()), ("Example PID", Some("LU")));
        assert!(entry.pinned_signers.is_empty() && entry.sd_jwt_signers.is_empty());
    }
}

#[test]
fn example_b_gives_an_mdl_root_of_greece_and_nothing_for_sd_jwt() {
    let anchor = example_anchor();
    let rules = ListRules { list_type: Some(ListType::Mdl), ..ListRules::new(&anchor) };
    let list = import_trusted_list(&PROVIDER, example_b().as_bytes(), &rules, NOW).unwrap();
    assert_eq!((list.list_type, list.sequence), (ListType::Mdl, 3));
    let entry = fed(&list, &ListTerms::default());
    assert_eq!(sha256s(&entry.roots), ["94282e07f7336117"]);
    assert_eq!(entry.roots[0].doc_types, [DocType::new("org.iso.18013.5.1.mDL")]);
    assert!(entry.sd_jwt_roots.is_empty() && entry.vct.is_empty());
    let provider = entry.roots[0].providers().next().unwrap();
    assert_eq!((provider.identifier(), provider.country.as_deref()), (Some("NTREL-1"), Some("GR")));
}

#[test]
fn one_flipped_bit_is_refused_and_nothing_panics() {
    let (whole, anchor) = (example_a().into_bytes(), example_anchor());
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 7);
        let result = import_trusted_list(&PROVIDER, &changed, &ListRules::new(&anchor), NOW);
        assert!(result.is_err(), "{at}");
    }
    for len in (0..whole.len()).step_by(13) {
        let cut = &whole[..len];
        assert!(import_trusted_list(&PROVIDER, cut, &ListRules::for_tests(), NOW).is_err());
    }
}

#[test]
fn a_stored_list_is_read_again_without_checking_signature_and_dates() {
    let long_past = NOW.plus(10 * 365 * 86_400_000);
    let list = TrustedList::recall(&PROVIDER, example_a().as_bytes(), long_past).unwrap();
    assert_eq!((list.sequence, list.providers.len()), (7, 1));
    assert!(!list.signer.is_known);
    assert!(TrustedList::recall(&PROVIDER, b"a.b.c", NOW).is_err());
}

#[test]
fn two_thousand_providers_are_read() {
    let certificate =
        idgate_testkit::x509::Identity::issuer_root(idgate_testkit::keys::Curve::P256, NOW.0);
    let service = Kind::Pid.issuance(&[&certificate.der]);
    let one = |n: usize| {
        let id = format!("NTRLU-{n}");
        idgate_testkit::trusted_list::provider("P", &id, "LU", std::slice::from_ref(&service))
    };
    let list = (0..2000).fold(made(Kind::Pid), |list, n| list.with(one(n)));
    let read = import_made(&list).unwrap();
    assert_eq!(read.providers.len(), 2000);
    let entry = fed(&read, &ListTerms::default());
    assert_eq!(entry.roots.len(), 1, "one certificate of many providers is kept once");
    assert_eq!(entry.roots[0].providers().count(), 2000);
    let error = import_made(&list.with(one(2000))).unwrap_err();
    assert_eq!(error.why, "has more than 2000 providers");
}

fn ca_rules(anchors: &ListAnchors) -> ListRules<'_> {
    ListRules::new(anchors)
}

fn ca() -> Identity {
    list_ca(NOW.0)
}
