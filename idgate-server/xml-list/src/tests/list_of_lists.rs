//! The list of lists: its pointer to the list of one territory, and the reasons to refuse it.

use idgate_core::shell::{ListMark, ListOfLists};
use idgate_testkit::trusted_list::other_list_signer;
use idgate_testkit::xml_list::pointer;

use super::*;
use crate::{import_list_of_lists, recall_list_of_lists};

const PLACE: &str = "https://lists.example/ut.xml";

/// A signer of the territory's list.
fn national_signer(seed: &str) -> Identity {
    other_list_signer(seed, NOW.0)
}

fn of(pointers: &[String]) -> XmlList {
    XmlList::new(XmlKind::OfLists, NOW.0).pointing(pointers)
}

fn utopia() -> String {
    pointer("UT", PLACE, &[&national_signer("a").der])
}

fn anchors() -> ListAnchors {
    ListAnchors::from_file(&PROVIDER, &signer().der).unwrap()
}

fn take_by(file: &str, rules: &ListRules<'_>) -> Result<ListOfLists, TrustedListError> {
    import_list_of_lists(&PROVIDER, file.as_bytes(), rules, NOW)
}

fn take(file: &str) -> Result<ListOfLists, TrustedListError> {
    take_by(file, &ListRules::new(&anchors()))
}

#[track_caller]
fn assert_none(pointers: &[String], why: &str) {
    let list = take(&of(pointers).sign(&signer())).unwrap();
    let refused = list.list_of("UT").unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn a_pointer_gives_the_url_and_the_signers_of_a_territorys_list() {
    let (one, two) = (national_signer("a").der, national_signer("b").der);
    let pointers = [
        pointer("XX", "https://lists.example/xx.xml", &[&one]),
        pointer("EL", PLACE, &[&two, &one, &two]),
    ];
    let file = of(&pointers).sign(&signer());
    let list = take(&file).unwrap();
    assert_eq!((list.sequence, list.pointers()), (7, 2));
    assert_eq!((&*list.operator, &*list.territory), ("Example Operator", "EU"));
    assert!(list.signer.is_known);
    let mut signers = [one, two];
    signers.sort();
    for country in ["EL", "GR"] {
        let named = list.list_of(country).unwrap();
        assert_eq!((&*named.location, &named.signers[..]), (PLACE, &signers[..]), "{country}");
    }
    let again = recall_list_of_lists(&PROVIDER, file.as_bytes(), None).unwrap();
    assert_eq!(again.payload_sha256, list.payload_sha256);
    assert_eq!(again.list_of("GR"), list.list_of("GR"));
}

#[test]
fn a_territory_without_a_pointer_is_refused() {
    assert_none(
        &[pointer("XX", PLACE, &[&national_signer("a").der])],
        "has no pointer to a list in XML of UT",
    );
    assert_none(&[], "has no pointer to a list in XML of UT");
}

#[test]
fn a_territory_with_two_pointers_is_refused() {
    assert_none(&[utopia(), utopia()], "has several pointers to lists in XML of UT");
}

#[test]
fn a_pointer_to_another_format_or_type_or_with_two_values_is_ignored() {
    let twice = "<OtherInformation><SchemeTerritory>UT</SchemeTerritory></OtherInformation>";
    for (from, to) in [
        ("application/vnd.etsi.tsl+xml", "application/pdf"),
        ("additionaltypes#", "othertypes#"),
        ("/EUgeneric<", "/EUlistofthelists<"),
        ("<AdditionalInformation>", &format!("<AdditionalInformation>{twice}")),
    ] {
        let pointer = utopia().replace(from, to);
        assert_ne!(pointer, utopia(), "{from}");
        assert_none(std::slice::from_ref(&pointer), "has no pointer to a list in XML of UT");
        // It does not count as a second one either.
        let list = take(&of(&[pointer, utopia()]).sign(&signer())).unwrap();
        assert_eq!(list.list_of("UT").unwrap().location, PLACE);
    }
}

#[test]
fn a_pointer_without_an_https_url_is_refused() {
    let long = format!("{PLACE}?{}", "a".repeat(1024));
    for location in ["", "http://lists.example/ut.xml", "ut.xml", "https://a b/", &long] {
        assert_none(
            &[pointer("UT", location, &[&national_signer("a").der])],
            "names no https URL of the list of UT",
        );
    }
}

#[test]
fn a_pointer_without_a_certificate_that_can_sign_is_refused() {
    // A CA would admit all its customers as signers.
    let ca = idgate_testkit::trusted_list::list_ca(NOW.0).der;
    for signers in [&[][..], &[&ca[..]], &[&b"no certificate"[..]]] {
        assert_none(
            &[pointer("UT", PLACE, signers)],
            "names no certificate that can sign the list of UT",
        );
    }
    let good = national_signer("a").der;
    let list = take(&of(&[pointer("UT", PLACE, &[&ca, &good])]).sign(&signer())).unwrap();
    assert_eq!(list.list_of("UT").unwrap().signers, [good]);
}

#[test]
fn a_pointer_with_more_than_32_signers_is_refused() {
    let der = national_signer("a").der;
    assert_none(
        &[pointer("UT", PLACE, &vec![&der[..]; 33])],
        "names more than 32 signers of the list of UT",
    );
}

#[test]
fn a_list_of_lists_with_more_than_256_pointers_is_refused() {
    let refused = take(&of(&vec![utopia(); 257]).sign(&signer())).unwrap_err().to_string();
    assert!(refused.contains("has more than 256 pointers to other lists"), "{refused}");
}

#[test]
fn a_list_that_is_not_the_list_of_lists_is_refused() {
    let refused = |file: &str| take(file).unwrap_err().to_string();
    let national = XmlList::new(XmlKind::National, NOW.0).sign(&signer());
    for other in [national, age_list().sign(&signer())] {
        assert!(refused(&other).contains("is not of the type EUlistofthelists"));
    }
    assert!(refused("eyJhbGciOiJFUzI1NiJ9.e30.AA").contains("is not XML"));
}

#[test]
fn a_list_of_lists_with_a_bad_signature_is_refused() {
    let file = of(&[utopia()]).sign(&signer());
    let changed = take(&file.replace(PLACE, "https://evil.example/ut.xml")).unwrap_err();
    assert_eq!(changed.kind, TrustedListErrorKind::NotAuthentic, "{changed}");
    let stranger = take(&of(&[utopia()]).sign(&national_signer("stranger"))).unwrap_err();
    assert_eq!(stranger.kind, TrustedListErrorKind::UnknownSigner, "{stranger}");
}

#[test]
fn an_older_list_of_lists_is_a_rollback() {
    let mark =
        ListMark { sequence: 8, issued_at: NOW.minus(1000), payload_sha256: [0; 32], seen_at: NOW };
    let file = of(&[utopia()]).sign(&signer());
    let anchors = anchors();
    let mut rules = ListRules::new(&anchors);
    rules.mark = Some(&mark);
    let refused = take_by(&file, &rules).unwrap_err();
    assert_eq!(refused.kind, TrustedListErrorKind::Rollback, "{refused}");
    assert!(refused.to_string().contains("has number 7, and 8 was seen on"), "{refused}");
    let list = take(&file).unwrap();
    assert_eq!(list.check_newer(&mark).unwrap_err(), refused);
    assert_eq!(list.check_newer(&list.mark(None, NOW)), Ok(()));
}

#[test]
fn a_list_of_lists_past_its_next_update_is_refused() {
    let due = of(&[utopia()]).due(NOW.0 - 1000).sign(&signer());
    let refused = take(&due).unwrap_err();
    assert_eq!(refused.kind, TrustedListErrorKind::OutOfDate, "{refused}");
    assert!(refused.to_string().contains("was due to be replaced on"), "{refused}");
    let anchors = anchors();
    let mut rules = ListRules::new(&anchors);
    rules.allow_stale = true;
    assert!(take_by(&due, &rules).is_ok());
}

#[test]
fn a_list_of_lists_of_another_territory_is_refused() {
    let file = of(&[utopia()]).sign(&signer());
    let anchors = anchors();
    let mut rules = ListRules::new(&anchors);
    rules.territory = Some("XX");
    let refused = take_by(&file, &rules).unwrap_err().to_string();
    assert!(refused.contains("is of the territory EU, and XX is asked for"), "{refused}");
}
