//! Registration certificates of clients: several per client, each for a named intended use, one of
//! them the default.

use idgate_core::RegistrationCertificate;
use idgate_testkit::codec::base64url;
use serde_json::json;

use super::*;
use crate::limits::MAX_REGISTRATIONS;

/// A registration certificate issued to this party.
fn certificate(party: &str) -> RegistrationCertificate {
    let part = |json: &serde_json::Value| base64url(json.to_string().as_bytes());
    let header = part(&json!({ "alg": "ES256", "typ": "rc-wrp+jwt" }));
    let payload = part(&json!({ "sub": party, "credentials": [] }));
    RegistrationCertificate::parse(&[&*header, &payload, "c2ln"].join(".")).unwrap()
}

/// Stores one. Returns its name and whether it is the default.
pub(super) fn keep<B: Backend>(
    fixture: &Fixture<B>,
    client: &str,
    (name, party): (Option<&str>, &str),
    as_default: bool,
    at: u64,
) -> (String, bool) {
    let new = NewRegistration {
        client_id: client,
        intended_use: name,
        as_default,
        certificate: &certificate(party),
        strict: party == "strict",
    };
    match fixture.operator().keep_registration(&new, NOW.plus(at)).unwrap() {
        KeptRegistration::Yes { intended_use, is_default } => (intended_use, is_default),
        other => panic!("{other:?}"),
    }
}

/// Name and party of each registration of this client that a gateway sees, the default first.
fn seen<B: Backend>(fixture: &Fixture<B>, client: &str) -> Vec<(String, String)> {
    let certificates = fixture.store().certificates().wait().unwrap();
    let own: Vec<_> = certificates.registrations_of(client).collect();
    let defaults: Vec<bool> = own.iter().map(|one| one.is_default).collect();
    assert!(defaults.iter().enumerate().all(|(at, is_default)| *is_default == (at == 0)));
    own.iter().map(|one| (one.intended_use.clone(), one.certificate.subject.clone())).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, party)| ((*name).into(), (*party).into())).collect()
}

pub(super) async fn registrations_have_names_and_one_is_the_default<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (client, other) = (fixture.live.client_id.as_str(), fixture.test.client_id.as_str());
    assert_eq!(keep(&fixture, client, (None, "first"), false, 1), ("default".into(), true));
    assert_eq!(keep(&fixture, client, (Some("age"), "strict"), false, 3), ("age".into(), false));
    assert_eq!(keep(&fixture, client, (Some("bank"), "bank"), false, 2), ("bank".into(), false));
    assert_eq!(keep(&fixture, other, (Some("age"), "other"), false, 1), ("age".into(), true));
    let expected = [("default", "first"), ("bank", "bank"), ("age", "strict")];
    assert_eq!(seen(&fixture, client), pairs(&expected));
    assert_eq!(seen(&fixture, other), pairs(&[("age", "other")]));
    // A registration of the same name is replaced. Without a name, the default is replaced,
    // whatever its name.
    assert_eq!(keep(&fixture, client, (Some("bank"), "new"), false, 4), ("bank".into(), false));
    assert_eq!(keep(&fixture, other, (None, "new"), false, 4), ("age".into(), true));
    assert_eq!(seen(&fixture, other), pairs(&[("age", "new")]));
    // After a change of the default, the previous one stays.
    assert_eq!(keep(&fixture, client, (Some("age"), "strict"), true, 5), ("age".into(), true));
    let expected = [("age", "strict"), ("default", "first"), ("bank", "new")];
    assert_eq!(seen(&fixture, client), pairs(&expected));
    let certificates = fixture.store().certificates().wait().unwrap();
    let found = |name| certificates.registration(client, name).map(|own| own.strict);
    assert_eq!(
        (found(None), found(Some("bank")), found(Some("ban"))),
        (Some(true), Some(false), None)
    );
}

pub(super) async fn the_default_registration_can_only_be_removed_last<B: Backend>() {
    use RemovedRegistration::{IsDefault, NotThere, Several, Yes};
    let fixture = Fixture::<B>::new();
    let client = fixture.live.client_id.as_str();
    let remove = |name| fixture.operator().remove_registration(client, name).unwrap();
    assert_eq!((remove(None), remove(Some("age"))), (NotThere, NotThere));
    keep(&fixture, client, (Some("age"), "a"), false, 1);
    keep(&fixture, client, (Some("bank"), "b"), false, 2);
    assert_eq!(remove(None), Several(vec!["age".into(), "bank".into()]));
    assert_eq!(remove(Some("age")), IsDefault(vec!["bank".into()]));
    assert_eq!(remove(Some("shop")), NotThere);
    assert_eq!(seen(&fixture, client), pairs(&[("age", "a"), ("bank", "b")]));
    assert_eq!(remove(Some("bank")), Yes("bank".into()));
    assert_eq!(seen(&fixture, client), pairs(&[("age", "a")]));
    assert_eq!((remove(None), remove(None)), (Yes("age".into()), NotThere));
    assert_eq!(seen(&fixture, client), []);
}

pub(super) async fn a_client_has_at_most_32_registrations<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let client = fixture.live.client_id.as_str();
    for at in 0..MAX_REGISTRATIONS {
        keep(&fixture, client, (Some(&format!("use{at}")), "party"), false, 1);
    }
    let new = certificate("party");
    let one_more = |name| {
        let new = NewRegistration {
            client_id: client,
            intended_use: Some(name),
            as_default: true,
            certificate: &new,
            strict: false,
        };
        fixture.operator().keep_registration(&new, NOW).unwrap()
    };
    assert_eq!(one_more("more"), KeptRegistration::TooMany);
    assert_eq!(seen(&fixture, client).len(), MAX_REGISTRATIONS);
    assert!(matches!(one_more("use1"), KeptRegistration::Yes { is_default: true, .. }));
}

pub(super) async fn the_registrations_of_a_revoked_client_are_erased<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (client, other) = (fixture.live.client_id.as_str(), fixture.test.client_id.as_str());
    keep(&fixture, client, (None, "one"), false, 1);
    keep(&fixture, client, (Some("age"), "two"), false, 1);
    keep(&fixture, other, (Some("age"), "kept"), false, 1);
    assert!(fixture.operator().revoke_client(client, NOW).unwrap());
    assert_eq!(seen(&fixture, client), []);
    assert_eq!(seen(&fixture, other), pairs(&[("age", "kept")]));
    let left = fixture.operator().registrations().unwrap();
    assert_eq!(left.iter().map(|own| &own.client_id).collect::<Vec<_>>(), [other]);
}
