//! One test per rule about the requested sources, and about the outcome of the answers.

mod crls;
mod lists;
mod unknown;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList, cbor};

use super::super::fixtures::{
    CRL_URI, KEY_IDENTIFIER, NOW, NOW_SECS, URI, anchor, context, crl_at, entry, name, root,
    root_with, signer, signing_key, voucher,
};
use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::ids::CredentialFormat;
use crate::revocation::token_status_list::StatusListReference;
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

/// Supplies the answer of `uri`, and returns the source if it may be cached.
fn supply(inquiry: &mut Inquiry, need: &Need, what: Option<&[u8]>) -> Option<VerifiedSource> {
    let entry = entry();
    let context = context(&entry);
    inquiry.supply(need, what.map_or(Supplied::Unavailable, Supplied::Bytes), &context)
}

/// All published statuses are good: the names say whether of the credential or of its signer.
const CREDENTIAL: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(true, false));
const SIGNER: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(false, true));
const BOTH: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(true, true));
const NEITHER: Result<RevocationDetails, Reason> = Ok(RevocationDetails::asked(false, false));

fn settled(inquiry: &Inquiry) -> Result<RevocationDetails, Reason> {
    inquiry.settle().map_err(|error| error.reason)
}

fn list_need() -> Need {
    Need::StatusList { uri: URI.into(), format: CredentialFormat::SdJwtVc }
}

fn crl_need(uri: &str) -> Need {
    Need::Crl { uri: uri.into() }
}

/// Index 1 is revoked, index 2 suspended.
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
fn off_fetches_nothing_whatever_is_published() {
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

/// A good certificate of its signer says nothing about the credential.
#[test]
fn required_needs_the_credentials_own_status() {
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
fn credential_and_signer_have_separate_outcomes() {
    use crate::revocation::{Revocation, RevocationOutcome as Outcome};
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

/// Drafts and ISO/IEC 18013-5 define others in addition to the status list.
#[test]
fn mechanisms_other_than_the_status_list_are_ignored() {
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
    // SD-JWT VCs have no identifier lists.
    let json = br#"{"identifier_list":{"id":"x","uri":"https://b.example"}}"#;
    let mut tape = crate::codec::json::Tape::default();
    let id = tape.parse(json).unwrap();
    assert_eq!(PublishedStatus::from_json(Some(tape.value(id))), PublishedStatus::Unknown);
    // An unusable status list is not replaced by the mechanisms next to it.
    let cbor = b"\xa2\x65other\x01\x6bstatus_list\xa1\x63idx\x03";
    let mut tape = crate::codec::cbor::Tape::default();
    let id = tape.parse(cbor).unwrap();
    assert_eq!(PublishedStatus::from_cbor(Some(tape.value(id))), PublishedStatus::Unknown);
}

/// `status` of an MSO with these members.
fn status_of_mso(members: &[(&str, Vec<u8>)]) -> PublishedStatus {
    let members: Vec<_> =
        members.iter().map(|(name, value)| (cbor::text(name), value.clone())).collect();
    let status = cbor::map(&members);
    let mut tape = crate::codec::cbor::Tape::default();
    let id = tape.parse(&status).unwrap();
    PublishedStatus::from_cbor(Some(tape.value(id)))
}

fn identifier_list(identifier: &[u8], uri: &str) -> (&'static str, Vec<u8>) {
    let id = (cbor::text("id"), cbor::bytes(identifier));
    ("identifier_list", cbor::map(&[id, (cbor::text("uri"), cbor::text(uri))]))
}

/// ISO/IEC 18013-5 second edition 12.3.6.
#[test]
fn an_identifier_list_of_an_mdoc_counts_without_a_status_list() {
    let reference = |identifier: &[u8]| {
        PublishedStatus::List(StatusListReference::of_identifier(identifier, URI).unwrap())
    };
    assert_eq!(status_of_mso(&[identifier_list(b"x", URI)]), reference(b"x"));
    let certificate = (cbor::text("certificate"), cbor::bytes(b"x"));
    let id = (cbor::text("id"), cbor::bytes(b""));
    let members = cbor::map(&[id, certificate, (cbor::text("uri"), cbor::text(URI))]);
    assert_eq!(status_of_mso(&[("identifier_list", members)]), reference(b""));
    for bad in [cbor::map(&[]), cbor::integer(1), cbor::text("x"), cbor::array(&[])] {
        assert_eq!(status_of_mso(&[("identifier_list", bad)]), PublishedStatus::Unknown);
    }
    let ftp = identifier_list(b"x", "ftp://status.example/1");
    assert_eq!(status_of_mso(&[ftp]), PublishedStatus::Unknown);
}

#[test]
fn with_both_lists_the_status_list_alone_decides() {
    let idx = (cbor::text("idx"), cbor::integer(3));
    let uri = (cbor::text("uri"), cbor::text("https://a.example/1"));
    let list = PublishedStatus::List(StatusListReference::new(3, "https://a.example/1").unwrap());
    let good = ("status_list", cbor::map(&[idx.clone(), uri]));
    let identifiers = || identifier_list(b"x", URI);
    assert_eq!(status_of_mso(&[identifiers(), good.clone()]), list);
    assert_eq!(status_of_mso(&[good, identifiers()]), list);
    for bad in [cbor::map(&[idx]), cbor::map(&[]), cbor::integer(1)] {
        let told = status_of_mso(&[identifiers(), ("status_list", bad)]);
        assert_eq!(told, PublishedStatus::Unknown, "never the other");
    }
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
fn an_authentic_source_can_be_reused() {
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
fn an_authentic_crl_can_be_reused_for_its_issuer_until_next_update() {
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
fn one_answer_needs_at_most_20_distinct_sources() {
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
    // Sources that an earlier round requested count as well.
    let mut asked = BTreeSet::new();
    assert!(check_count(&[with(20)], &mut asked).is_ok());
    assert!(check_count(&[with(20)], &mut asked).is_ok());
    assert_eq!(check_count(&[list()], &mut asked).unwrap_err().reason, Reason::LimitExceeded);
}
