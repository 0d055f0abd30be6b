//! One test per rule on what is asked, and on what the answers come to.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList};

use super::super::fixtures::{
    CRL_URI, KEY_IDENTIFIER, NOW, NOW_SECS, URI, anchor, context, crl_at, entry, name, root,
    root_with, signer, signing_key, voucher,
};
use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::status::token_status_list::StatusListReference;
use crate::time::UnixMillis;
use crate::trust::TrustEntry;
use crate::trust::crl::VerifiedCrl;

const SERIAL: &[u8] = &[0x11, 0x22];
const OTHER_CRL_URI: &str = "https://crl.example/second.crl";

fn with_policy(policy: RevocationPolicy) -> TrustEntry {
    let mut entry = entry();
    entry.revocation = policy;
    entry
}

fn list_at(idx: u64) -> Published {
    let reference = StatusListReference::new(idx, URI).unwrap();
    Published { status: PublishedStatus::List(reference), ..Published::default() }
}

fn signer_with(points: &[&[&str]]) -> Published {
    let uris = |point: &&[&str]| point.iter().map(|uri| String::from(*uri)).collect();
    let signer = SignerStatus {
        serial: SERIAL.to_vec(),
        points: points.iter().map(uris).collect(),
        issuer: Some(Arc::from(root())),
        intermediates: vec![],
    };
    Published { signer: Some(signer), ..Published::default() }
}

fn open(published: Published, entry: &TrustEntry) -> Result<Inquiry, Reason> {
    let context = context(entry);
    Inquiry::open(published, &context).map_err(|error| error.reason)
}

/// Supplies what `uri` answers with, and says whether something may be cached.
fn supply(inquiry: &mut Inquiry, need: &Need, what: Option<&[u8]>) -> Option<VerifiedSource> {
    let entry = entry();
    let context = context(&entry);
    inquiry.supply(need, what.map_or(Supplied::Unavailable, Supplied::Bytes), &context)
}

/// Everything that was published is good: by name, of the credential and of its signer.
const CREDENTIAL: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(true, false));
const SIGNER: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(false, true));
const BOTH: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(true, true));
const NEITHER: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(false, false));

fn settled(inquiry: &Inquiry) -> Result<RevocationDetails, Reason> {
    inquiry.settle().map_err(|error| error.reason)
}

fn list_need() -> Need {
    Need::StatusList { uri: URI.into() }
}

fn crl_need(uri: &str) -> Need {
    Need::Crl { uri: uri.into() }
}

/// Revoked at 1, suspended at 2.
fn token() -> String {
    let list = StatusList::new(2, 8).with(1, 1).with(2, 2);
    StatusJwt::new(&list, URI, NOW_SECS).sign(&signing_key("issuer"))
}

fn crl() -> Crl {
    Crl::new(&name("Root"), KEY_IDENTIFIER, "20261121000000Z", "20261122000000Z")
}

fn signed(crl: &Crl) -> Vec<u8> {
    crl.sign(&signing_key("root"))
}

fn entry_with_crl(crl: &Crl) -> TrustEntry {
    let mut entry = entry();
    entry.crls.push(VerifiedCrl::from_der(&PROVIDER, &signed(crl), &entry.roots).unwrap());
    entry
}

#[test]
fn off_asks_nothing_whatever_is_published() {
    let off = with_policy(RevocationPolicy::Off);
    let unknown = Published { status: PublishedStatus::Unknown, ..Published::default() };
    for published in [list_at(1), unknown, signer_with(&[&[CRL_URI]]), Published::default()] {
        let certified = published.signer.is_some();
        let inquiry = open(published, &off).unwrap();
        let expected = Ok(RevocationDetails::off(certified));
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
}

#[test]
fn without_a_published_status_the_policy_decides() {
    for silent in [Published::default(), signer_with(&[])] {
        assert_eq!(settled(&open(silent, &entry()).unwrap()), NEITHER);
    }
    let required = with_policy(RevocationPolicy::Required);
    for published in [Published::default(), signer_with(&[])] {
        assert_eq!(open(published, &required).unwrap_err(), Reason::RevocationUnknown);
    }
    assert!(open(list_at(0), &required).is_ok());
}

/// That the certificate of its signer is good says nothing about a credential.
#[test]
fn required_demands_the_credentials_own_status() {
    let mut required = with_policy(RevocationPolicy::Required);
    let refused = open(signer_with(&[&[CRL_URI]]), &required).unwrap_err();
    assert_eq!(refused, Reason::RevocationUnknown);
    required.crls = entry_with_crl(&crl()).crls;
    let refused = open(signer_with(&[&[CRL_URI]]), &required).unwrap_err();
    assert_eq!(refused, Reason::RevocationUnknown);
    let both = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..list_at(0) };
    assert!(open(both, &required).is_ok());
}

#[test]
fn credential_and_signer_are_told_apart() {
    use crate::status::{Revocation, RevocationOutcome as Outcome};
    let details = |credential, signer| RevocationDetails { credential, signer };
    for (told, credential, signer, summary) in [
        (BOTH, Outcome::Good, Outcome::Good, Revocation::Good),
        (CREDENTIAL, Outcome::Good, Outcome::NotPublished, Revocation::Good),
        (SIGNER, Outcome::NotPublished, Outcome::Good, Revocation::SignerGood),
        (NEITHER, Outcome::NotPublished, Outcome::NotPublished, Revocation::NotPublished),
    ] {
        assert_eq!(told, Ok(details(credential, signer)));
        assert_eq!(told.map(RevocationDetails::summary), Ok(summary));
    }
    assert_eq!(RevocationDetails::off(true), details(Outcome::Off, Outcome::Off));
    assert_eq!(RevocationDetails::off(false), details(Outcome::Off, Outcome::NotPublished));
    assert_eq!(RevocationDetails::off(false).summary(), Revocation::Off);
}

#[test]
fn a_status_of_no_known_mechanism_is_unknown_before_anything_is_fetched() {
    for policy in [RevocationPolicy::IfPublished, RevocationPolicy::Required] {
        let published =
            Published { status: PublishedStatus::Unknown, ..signer_with(&[&[CRL_URI]]) };
        assert_eq!(open(published, &with_policy(policy)).unwrap_err(), Reason::RevocationUnknown);
    }
}

/// Drafts and ISO/IEC 18013-5 name others beside the status list.
#[test]
fn a_second_mechanism_beside_the_status_list_is_left_alone() {
    let list = PublishedStatus::List(StatusListReference::new(3, "https://a.example/1").unwrap());
    let json = br#"{"identifier_list":{"id":"x","uri":"https://b.example"},
        "status_list":{"idx":3,"uri":"https://a.example/1"}}"#;
    let mut tape = crate::codec::json::Tape::default();
    let id = tape.parse(json).unwrap();
    assert_eq!(PublishedStatus::from_json(Some(tape.value(id))), list);
    let cbor = b"\xa2\x65other\x01\x6bstatus_list\xa2\x63idx\x03\x63uri\x73https://a.example/1";
    let mut tape = crate::codec::cbor::Tape::default();
    let id = tape.parse(cbor).unwrap();
    assert_eq!(PublishedStatus::from_cbor(Some(tape.value(id))), list);
    // A status list that cannot be followed is not excused by what stands beside it.
    let cbor = b"\xa2\x65other\x01\x6bstatus_list\xa1\x63idx\x03";
    let mut tape = crate::codec::cbor::Tape::default();
    let id = tape.parse(cbor).unwrap();
    assert_eq!(PublishedStatus::from_cbor(Some(tape.value(id))), PublishedStatus::Unknown);
}

#[test]
fn what_was_not_asked_is_unknown() {
    for published in [list_at(0), signer_with(&[&[CRL_URI]])] {
        let inquiry = open(published, &entry()).unwrap();
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn the_list_answers_for_its_index() {
    for (idx, expected) in [
        (0, CREDENTIAL),
        (1, Err(Reason::CredentialRevoked)),
        (2, Err(Reason::CredentialSuspended)),
        (16, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(list_at(idx), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [list_need()]);
        let source = supply(&mut inquiry, &list_need(), Some(token().as_bytes())).unwrap();
        assert_eq!((source.need(), inquiry.needs().count()), (list_need(), 0));
        assert_eq!(source.weight(), 2);
        assert_eq!(settled(&inquiry), expected, "{idx}");
    }
}

#[test]
fn an_unavailable_or_useless_list_is_unknown() {
    let other = StatusJwt::new(&StatusList::new(1, 8), "https://other.example", NOW_SECS);
    let other = other.sign(&signing_key("issuer"));
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(other.as_bytes())] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        assert!(supply(&mut inquiry, &list_need(), what).is_none());
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn the_first_answer_counts_and_what_is_not_asked_changes_nothing() {
    let revoked = StatusList::new(1, 8).with(0, 1);
    let revoked = StatusJwt::new(&revoked, URI, NOW_SECS).sign(&signing_key("issuer"));
    for (first, second, expected) in [
        (token(), revoked.clone(), CREDENTIAL),
        (revoked.clone(), token(), Err(Reason::CredentialRevoked)),
        ("garbage".into(), token(), Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        for unasked in [crl_need(URI), Need::StatusList { uri: "https://other.example".into() }] {
            assert!(supply(&mut inquiry, &unasked, Some(first.as_bytes())).is_none());
        }
        assert_eq!(inquiry.needs().count(), 1);
        supply(&mut inquiry, &list_need(), Some(first.as_bytes()));
        assert!(supply(&mut inquiry, &list_need(), Some(second.as_bytes())).is_none());
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn the_crl_answers_for_the_signers_serial_number() {
    for (crl, expected) in [
        (crl(), SIGNER),
        (crl().revoke(&[0x11]), SIGNER),
        (crl().revoke(SERIAL), Err(Reason::CertificateRevoked)),
    ] {
        let mut inquiry = open(signer_with(&[&[CRL_URI]]), &entry()).unwrap();
        assert!(inquiry.covers_signer());
        let source = supply(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl))).unwrap();
        assert_eq!(source.need(), crl_need(CRL_URI));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn an_unavailable_or_useless_crl_is_unknown() {
    let expired = Crl { next_update: crl().next_update, ..crl() };
    let expired = Crl { next_update: Some(expired.this_update.clone()), ..expired };
    let forged = crl().sign(&signing_key("other"));
    let old = signed(&expired);
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(&forged), Some(&old)] {
        let mut inquiry = open(signer_with(&[&[CRL_URI]]), &entry()).unwrap();
        supply(&mut inquiry, &crl_need(CRL_URI), what);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn every_distribution_point_is_asked_once() {
    let points: &[&[&str]] = &[&["ldap://dir.example/", CRL_URI], &[OTHER_CRL_URI], &[CRL_URI]];
    let inquiry = open(signer_with(points), &entry()).unwrap();
    assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI), crl_need(OTHER_CRL_URI)]);
}

#[test]
fn one_list_that_revokes_outweighs_all_and_one_good_list_suffices() {
    let (good, bad) = (signed(&crl()), signed(&crl().revoke(SERIAL)));
    for (first, second, expected) in [
        (Some(&good), Some(&bad), Err(Reason::CertificateRevoked)),
        (Some(&bad), Some(&good), Err(Reason::CertificateRevoked)),
        (None, Some(&bad), Err(Reason::CertificateRevoked)),
        (None, Some(&good), SIGNER),
        (Some(&good), None, SIGNER),
        (None, None, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(signer_with(&[&[CRL_URI], &[OTHER_CRL_URI]]), &entry()).unwrap();
        supply(&mut inquiry, &crl_need(CRL_URI), first.map(Vec::as_slice));
        let early = settled(&inquiry).unwrap_err();
        assert!(matches!(early, Reason::RevocationUnknown | Reason::CertificateRevoked));
        supply(&mut inquiry, &crl_need(OTHER_CRL_URI), second.map(Vec::as_slice));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn distribution_points_that_cannot_be_asked_are_unknown() {
    let points: [&[&[&str]]; 3] = [&[&["ldap://dir.example/"]], &[&[]], &[&[CRL_URI], &[]]];
    for points in points {
        let refused = open(signer_with(points), &entry()).unwrap_err();
        assert_eq!(refused, Reason::RevocationUnknown, "{points:?}");
    }
    let mut orphan = signer_with(&[&[CRL_URI]]);
    if let Some(signer) = &mut orphan.signer {
        signer.issuer = None;
    }
    assert_eq!(open(orphan, &entry()).unwrap_err(), Reason::RevocationUnknown);
}

#[test]
fn an_operators_crl_replaces_the_fetch() {
    let good = entry_with_crl(&crl());
    for points in [&[][..], &[&[CRL_URI][..]][..], &[&[][..]][..]] {
        let inquiry = open(signer_with(points), &good).unwrap();
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, SIGNER));
        let revoking = entry_with_crl(&crl().revoke(SERIAL));
        let refused = open(signer_with(points), &revoking).unwrap_err();
        assert_eq!(refused, Reason::CertificateRevoked);
    }
}

#[test]
fn an_operators_crl_out_of_date_is_unknown_and_not_replaced_by_a_fetch() {
    let mut old = crl();
    old.next_update = Some(old.this_update.clone());
    let refused = open(signer_with(&[&[CRL_URI]]), &entry_with_crl(&old)).unwrap_err();
    assert_eq!(refused, Reason::RevocationUnknown);
    // A current one beside it decides.
    let mut both = entry_with_crl(&old);
    both.crls.extend(entry_with_crl(&crl()).crls);
    assert_eq!(settled(&open(signer_with(&[]), &both).unwrap()), SIGNER);
}

#[test]
fn an_operators_crl_of_another_root_replaces_nothing() {
    let key = signing_key("other");
    let mut entry = entry();
    entry.roots.push(anchor(&root_with("Other", &key, [1, 0x06])));
    let der = Crl { issuer: name("Other"), ..crl() }.revoke(SERIAL).sign(&key);
    entry.crls.push(VerifiedCrl::from_der(&PROVIDER, &der, &entry.roots).unwrap());
    let inquiry = open(signer_with(&[&[CRL_URI]]), &entry).unwrap();
    assert_eq!(inquiry.needs().count(), 1);
    assert_eq!(settled(&open(signer_with(&[]), &entry).unwrap()), NEITHER);
}

#[test]
fn certificate_and_credential_must_both_be_good() {
    let both = |idx| Published { signer: signer_with(&[&[CRL_URI]]).signer, ..list_at(idx) };
    for (idx, crl, expected) in [
        (0, crl(), BOTH),
        (1, crl(), Err(Reason::CredentialRevoked)),
        (0, crl().revoke(SERIAL), Err(Reason::CertificateRevoked)),
    ] {
        let mut inquiry = open(both(idx), &entry()).unwrap();
        assert_eq!(inquiry.needs().count(), 2);
        supply(&mut inquiry, &list_need(), Some(token().as_bytes()));
        assert!(settled(&inquiry).is_err());
        supply(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl)));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn an_authentic_source_answers_later_inquiries() {
    let mut first = open(list_at(0), &entry()).unwrap();
    let source = supply(&mut first, &list_need(), Some(token().as_bytes())).unwrap();
    let entry = entry();
    let here = context(&entry);
    for (idx, expected) in [(0, CREDENTIAL), (1, Err(Reason::CredentialRevoked))] {
        let mut later = open(list_at(idx), &entry).unwrap();
        assert!(later.reuse(&source, &here));
        assert_eq!((later.needs().count(), settled(&later)), (0, expected));
        assert!(!later.reuse(&source, &here), "there is nothing left to answer");
    }
    let mut other = entry.clone();
    other.issuer_id = crate::ids::IssuerId::new("https://other.example");
    let mut later = open(list_at(0), &other).unwrap();
    assert!(!later.reuse(&source, &context(&other)));
    assert_eq!(settled(&later), Err(Reason::RevocationUnknown));
}

#[test]
fn an_authentic_crl_answers_for_its_issuer_until_next_update() {
    let mut first = open(signer_with(&[&[CRL_URI]]), &entry()).unwrap();
    let revoking = signed(&crl().revoke(SERIAL));
    let source = supply(&mut first, &crl_need(CRL_URI), Some(&revoking)).unwrap();
    assert_eq!(source.fresh_until(), UnixMillis::parse_rfc3339("2026-11-22T00:00:00Z").unwrap());
    assert_eq!(source.expires_at(), Some(source.fresh_until()));
    let entry = entry();
    let here = context(&entry);
    let mut later = open(signer_with(&[&[CRL_URI]]), &entry).unwrap();
    assert!(!later.reuse(&source, &StatusContext { now: NOW.plus(1 << 31), ..here }));
    assert!(later.reuse(&source, &here));
    assert_eq!(settled(&later), Err(Reason::CertificateRevoked));

    let mut elsewhere = signer_with(&[&[CRL_URI]]);
    if let Some(signer) = &mut elsewhere.signer {
        signer.issuer = Some(Arc::from(root_with("Root", &signing_key("other"), [1, 0x06])));
    }
    let mut later = open(elsewhere, &entry).unwrap();
    assert!(!later.reuse(&source, &here));
}

#[test]
fn one_answer_asks_for_at_most_20_sources_and_for_equal_ones_once() {
    let uris: Vec<String> = (0..21).map(|n| format!("https://crl.example/{n}")).collect();
    let with = |count: usize| {
        let points: Vec<Vec<&str>> = uris[..count].iter().map(|uri| vec![uri.as_str()]).collect();
        let points: Vec<&[&str]> = points.iter().map(Vec::as_slice).collect();
        open(signer_with(&points), &entry()).unwrap()
    };
    let list = || open(list_at(0), &entry()).unwrap();
    let check = |inquiries: &[Inquiry]| check_count(inquiries, &mut BTreeSet::new());
    assert_eq!(needs_of(&[with(19), with(19), list(), list()]).len(), 20);
    assert!(check(&[with(19), with(19), list(), list()]).is_ok());
    for too_many in [vec![with(21)], vec![with(20), list()]] {
        assert_eq!(check(&too_many).unwrap_err().reason, Reason::LimitExceeded);
    }
    // What an earlier round asked for counts.
    let mut asked = BTreeSet::new();
    assert!(check_count(&[with(20)], &mut asked).is_ok());
    assert!(check_count(&[with(20)], &mut asked).is_ok());
    assert_eq!(check_count(&[list()], &mut asked).unwrap_err().reason, Reason::LimitExceeded);
}

/// An mdoc whose status stands at `idx` of a list that `der` signs.
fn certified_list(der: &[u8], idx: usize) -> Vec<u8> {
    let list = StatusList::new(1, 8).with(idx, 1);
    StatusCwt::new(&list, URI, NOW_SECS, &[der]).sign(&signing_key("signer"))
}

fn mdoc_list() -> Published {
    Published { voucher: Some(voucher()), ..list_at(0) }
}

fn supply_mdoc(inquiry: &mut Inquiry, need: &Need, what: Option<&[u8]>, entry: &TrustEntry) {
    let context = context(entry);
    inquiry.supply(need, what.map_or(Supplied::Unavailable, Supplied::Bytes), &context);
}

#[test]
fn the_signer_of_a_list_is_asked_for_its_own_crl() {
    let own_crl = signer_with_crl();
    for (what, expected) in [
        (Some(signed(&crl())), CREDENTIAL),
        (Some(signed(&crl().revoke(SERIAL))), Err(Reason::RevocationUnknown)),
        (Some(b"garbage".to_vec()), Err(Reason::RevocationUnknown)),
        (None, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(mdoc_list(), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [list_need()]);
        let token = certified_list(&own_crl, 7);
        supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown), "it was not asked yet");
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), what.as_deref(), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
    // One that publishes nothing is not asked.
    let mut inquiry = open(mdoc_list(), &entry()).unwrap();
    let token = certified_list(&signer(&signing_key("signer")), 0);
    supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
    assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, Err(Reason::CredentialRevoked)));
}

fn signer_with_crl() -> Vec<u8> {
    signer_with_extensions(&[crl_at(CRL_URI)])
}

fn signer_with_extensions(more: &[Vec<u8>]) -> Vec<u8> {
    super::super::fixtures::signer_with(&signing_key("signer"), more)
}

#[test]
fn a_signer_that_the_operators_crl_revokes_signs_no_list() {
    let over = || Crl { next_update: Some(crl().this_update), ..crl() };
    for (crl, expected) in [
        (crl(), CREDENTIAL),
        (crl().revoke(&[0x33]), CREDENTIAL),
        (crl().revoke(SERIAL), Err(Reason::RevocationUnknown)),
        (over(), Err(Reason::RevocationUnknown)),
        (over().revoke(SERIAL), Err(Reason::RevocationUnknown)),
    ] {
        let entry = entry_with_crl(&crl);
        for der in [signer(&signing_key("signer")), signer_with_crl()] {
            let mut inquiry = open(mdoc_list(), &entry).unwrap();
            supply_mdoc(&mut inquiry, &list_need(), Some(&certified_list(&der, 7)), &entry);
            assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
        }
    }
}

/// Who signed both is asked once, and both stand or fall with the answer.
#[test]
fn a_list_by_the_credentials_own_signer_raises_no_question_of_its_own() {
    let own = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..mdoc_list() };
    for (crl, expected) in [(crl(), BOTH), (crl().revoke(SERIAL), Err(Reason::CertificateRevoked))]
    {
        let mut inquiry = open(own.clone(), &entry()).unwrap();
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl)), &entry());
        let token = certified_list(&signer_with_crl(), 7);
        supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
}

#[test]
fn a_supplied_crl_is_asked_about_intermediates_too() {
    let over_a_ca = || {
        let intermediates = signer_with(&[]).signer.into_iter().collect();
        let (serial, points, issuer) = (vec![9], vec![], None);
        let signer = SignerStatus { serial, points, issuer, intermediates };
        Published { signer: Some(signer), ..Published::default() }
    };
    let old = Crl::new(&name("Root"), KEY_IDENTIFIER, "20261119000000Z", "20261120000000Z");
    for (entry, expected) in [
        (entry(), None),
        (entry_with_crl(&crl()), None),
        (entry_with_crl(&crl().revoke(SERIAL)), Some(Reason::CertificateRevoked)),
        (entry_with_crl(&old), Some(Reason::RevocationUnknown)),
    ] {
        let inquiry = open(over_a_ca(), &entry);
        assert_eq!(inquiry.as_ref().err(), expected.as_ref());
        assert!(inquiry.is_err() || settled(&inquiry.unwrap()) == NEITHER);
    }
}
