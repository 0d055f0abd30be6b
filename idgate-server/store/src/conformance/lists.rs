//! European trusted lists: what is stored of them, and what a new one does to all who follow it.

use idgate_core::IssuerId;
use idgate_testkit::keys::Curve;
use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, compact_utc};
use idgate_testkit::trusted_list::{
    Kind, TrustedList as Made, list_signer, other_list_signer, provider,
};
use idgate_testkit::x509::{Identity, key_identifier};

use super::*;

const URL: &str = "https://lists.example/pid.json";

fn token(number: u64, providers: usize) -> Vec<u8> {
    list(number, providers).sign(&list_signer(NOW.0)).into_bytes()
}

/// The same again, with another signature.
fn signed_anew(number: u64, providers: usize) -> Vec<u8> {
    let header = serde_json::json!({ "iat": NOW.0 / 1000 });
    list(number, providers).headed(header).sign(&list_signer(NOW.0)).into_bytes()
}

fn list(number: u64, providers: usize) -> Made {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let services = [Kind::Pid.issuance(&[&root.der])];
    let list = Made::new(Kind::Pid, NOW.0).numbered(number);
    (0..providers)
        .fold(list, |list, n| list.with(provider("P", &format!("NTRLU-{n}"), "LU", &services)))
}

fn following(number: u64, url: Option<&str>) -> TrustChange {
    TrustChange {
        vct: Some(vec!["urn:eudi:pid:1".into()]),
        trusted_list: Some(NewTrustedList {
            url: url.map(Into::into),
            token: token(number, 1),
            list_type: None,
            anchors: Some(list_signer(NOW.0).der),
            crls: None,
            accept_rollback: false,
        }),
        ..TrustChange::default()
    }
}

fn fetched(token: Vec<u8>) -> FetchedList {
    FetchedList { url: URL.into(), token, accept_rollback: false }
}

fn providers<B: Backend>(fixture: &Fixture<B>, issuer_id: &str) -> usize {
    let trust = fixture.store().trust().wait().unwrap();
    let entry = trust.entry(&IssuerId::new(issuer_id)).unwrap();
    entry.sd_jwt_roots.iter().map(|root| root.providers().count()).sum()
}

pub(super) async fn a_new_issue_is_in_force_for_all_who_follow_it_at_the_next_read<B: Backend>() {
    let fixture = Fixture::<B>::new();
    for issuer_id in ["eu", "eu-too"] {
        fixture.operator().add_trust(issuer_id, &following(7, Some(URL)), NOW).unwrap().unwrap();
    }
    let sources = fixture.store().list_sources().await.unwrap();
    assert_eq!((sources.len(), sources[0].sequence, sources[0].listed), (1, 7, 1));
    assert!(sources[0].fetch.is_none());
    let before = fixture.store().trust().wait().unwrap().version();
    let refresh =
        |token| fixture.store().refresh_list(fetched(token), NOW.plus(1000)).wait().unwrap();
    assert_eq!(refresh(token(7, 1)), Refreshed::Same);
    assert_eq!(refresh(signed_anew(7, 1)), Refreshed::Same);
    assert_eq!(fixture.store().trust().wait().unwrap().version(), before);
    assert_eq!(refresh(token(8, 2)), Refreshed::New { from: 7, to: 8, providers: 2 });
    for issuer_id in ["eu", "eu-too"] {
        assert_eq!(providers(&fixture, issuer_id), 2);
    }
    assert!(fixture.store().trust().wait().unwrap().version() > before);
    let mut log = Vec::new();
    fixture.operator().export_audit(Some("operator"), &mut log).unwrap();
    let log: serde_json::Value = serde_json::from_slice(&log).unwrap();
    let entries = log["entries"].as_array().unwrap();
    let renewed: Vec<_> = entries.iter().filter(|entry| entry["actor"] == "system").collect();
    assert_eq!(renewed.len(), 2, "one for each entry that follows it: {log}");
    let change = serde_json::json!({ "from": 7, "providers": 2, "providers_before": 1, "to": 8 });
    assert!(renewed.iter().all(|entry| entry["list"] == change), "{log}");
    let Refreshed::Rollback(why) = refresh(token(7, 1)) else { panic!("taken") };
    assert!(why.contains("has number 7, and 8 was seen on"), "{why}");
    let Refreshed::Refused(_) = refresh(b"<html>".to_vec()) else { panic!("taken") };
    assert_eq!(providers(&fixture, "eu"), 2);
    let fetch = fixture.store().list_sources().await.unwrap()[0].fetch.clone().unwrap();
    assert_eq!((fetch.failures, fetch.tried_at), (2, NOW.plus(1000)));
    let elsewhere = FetchedList { url: "https://a".into(), ..fetched(token(9, 1)) };
    let outcome = fixture.store().refresh_list(elsewhere, NOW).await.unwrap();
    assert_eq!(outcome, Refreshed::Unwanted);
}

pub(super) async fn a_list_in_force_outlives_its_signer_and_a_new_one_does_not<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let long = list_signer(NOW.0);
    let ends = NOW.plus(DAY_MS);
    let signer = long.builder.with(|one| one.not_after_ms = ends.0).self_sign(&long.key);
    let signed = |number, providers| list(number, providers).sign(&signer).into_bytes();
    let mut change = following(7, Some(URL));
    let list = change.trusted_list.as_mut().unwrap();
    (list.token, list.anchors) = (signed(7, 1), Some(signer.der.clone()));
    fixture.operator().add_trust("eu", &change, NOW).unwrap().unwrap();
    let later = ends.plus(DAY_MS);
    let refresh = |token| fixture.store().refresh_list(fetched(token), later).wait().unwrap();
    assert_eq!(refresh(signed(7, 1)), Refreshed::Same);
    assert!(matches!(refresh(signed(8, 2)), Refreshed::Refused(_)));
    assert_eq!(providers(&fixture, "eu"), 1);
}

pub(super) async fn an_entry_that_refuses_a_list_keeps_it_from_no_other<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let next = other_list_signer("next list signer", NOW.0);
    let follow = |issuer_id: &str, anchors: Vec<u8>| {
        let mut change = following(7, Some(URL));
        change.trusted_list.as_mut().unwrap().anchors = Some(anchors);
        fixture.operator().add_trust(issuer_id, &change, NOW).unwrap().unwrap();
    };
    follow("a-late", list_signer(NOW.0).der);
    follow("b", [list_signer(NOW.0).der, next.der.clone()].concat());
    follow("c-late", list_signer(NOW.0).der);
    let refresh = |token| fixture.store().refresh_list(fetched(token), NOW).wait().unwrap();
    let outcome = refresh(list(8, 2).sign(&next).into_bytes());
    let why = "the trusted list has a signer that does not lead to --list-signer-ca";
    let told = format!("a-late: {why}; c-late: {why}");
    assert_eq!((outcome.name(), outcome.failure()), ("refused", Some(&*told)));
    let counts = || ["a-late", "b", "c-late"].map(|issuer_id| providers(&fixture, issuer_id));
    assert_eq!(counts(), [1, 2, 1]);
    let fetch = fixture.store().list_sources().await.unwrap()[0].fetch.clone().unwrap();
    assert_eq!((fetch.failures, fetch.failure), (1, Some(told)));
    let Refreshed::Rollback(why) = refresh(token(7, 1)) else { panic!("taken") };
    assert!(!why.contains("late"), "what all refuse for one reason is told once: {why}");
    assert!(matches!(refresh(token(9, 3)), Refreshed::New { to: 9, .. }));
    assert_eq!(counts(), [3, 3, 3]);
}

pub(super) async fn a_crl_may_be_of_a_ca_that_the_list_brings<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let crl_of = |root: &Identity| {
        let (issuer, identifier) = (root.builder.subject.der(), key_identifier(&root.key));
        let (made, next) = (compact_utc(NOW.0 - DAY_MS), compact_utc(NOW.0 + DAY_MS));
        let der = Crl::new(&issuer, &identifier, &made, &next).sign(&root.key);
        NewCrl { der, file: "a.crl".into() }
    };
    let with = |change: TrustChange, root: &Identity| {
        let change = TrustChange { crls: vec![crl_of(root)], ..change };
        fixture.operator().add_trust("eu", &change, NOW).map(Option::unwrap)
    };
    let (listed, other) =
        (Identity::issuer_root(Curve::P256, NOW.0), Identity::iaca(Curve::P256, NOW.0));
    let refused = with(following(7, None), &other).unwrap_err().to_string();
    assert!(refused.contains("a.crl: the CRL is for none of the trusted roots"), "{refused}");
    for change in [following(7, None), TrustChange::default()] {
        let record = with(change, &listed).unwrap();
        assert!(matches!(&*record.crls, [crl] if crl.verified.is_ok()), "{:?}", record.crls);
    }
    let trust = fixture.store().trust().wait().unwrap();
    assert_eq!(trust.entry(&IssuerId::new("eu")).unwrap().crls.len(), 1);
    let record = fixture.operator().trust_entry("eu").unwrap().unwrap();
    let sha256: [u8; 32] = record.trusted_list.unwrap().row.sha256.try_into().unwrap();
    let removed = fixture.operator().remove_trust_material("eu", &sha256, NOW).unwrap().unwrap();
    let kinds: Vec<&str> = removed.iter().map(|one| &*one.kind).collect();
    assert_eq!(kinds, ["trusted_list", "crl"], "it says nothing about anybody any more");
}

pub(super) async fn new_anchors_keep_only_the_crls_of_their_own_cas<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let ca = Identity::issuer_root(Curve::P256, NOW.0);
    let (issuer, identifier) = (ca.builder.subject.der(), key_identifier(&ca.key));
    let (made, next) = (compact_utc(NOW.0 - DAY_MS), compact_utc(NOW.0 + DAY_MS));
    let crl = Crl::new(&issuer, &identifier, &made, &next).sign(&ca.key);
    let both = [list_signer(NOW.0).der, ca.der].concat();
    let add = |anchors: &[u8], crls: Option<Vec<u8>>| {
        let mut change = following(7, Some(URL));
        let list = change.trusted_list.as_mut().unwrap();
        (list.anchors, list.crls) = (Some(anchors.to_vec()), crls);
        let record = fixture.operator().add_trust("eu", &change, NOW).unwrap().unwrap();
        record.trusted_list.unwrap().row.crls
    };
    assert_eq!(add(&both, Some(crl.clone())), crl);
    assert_eq!(add(&both, None), crl);
    assert!(add(&list_signer(NOW.0).der, None).is_empty());
}

pub(super) async fn there_are_32_sources_of_lists_and_no_more<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let mut operator = fixture.operator();
    let mut add = |n: usize, at: usize| {
        let change = following(7, Some(&format!("https://lists.example/{at}")));
        operator.add_trust(&format!("eu-{n}"), &change, NOW).map(|added| added.is_some())
    };
    for n in 0..32 {
        assert!(add(n, n).unwrap());
    }
    let refused = add(32, 32).unwrap_err().to_string();
    assert!(refused.contains("there are 32 sources of trusted lists already"), "{refused}");
    assert!(add(33, 31).unwrap(), "of one of them any number of entries takes its list");
    assert_eq!(fixture.store().list_sources().await.unwrap().len(), 32);
    let entries = fixture.operator().trust_entries().unwrap();
    assert!(entries.iter().all(|entry| entry.issuer_id != "eu-32"));
}

pub(super) async fn how_fetching_went_is_kept_until_it_goes_well<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.operator().add_trust("eu", &following(7, Some(URL)), NOW).unwrap().unwrap();
    for failures in 1..=3 {
        let why = String::from("connect_failed");
        fixture.store().note_list_failure(URL.into(), why, NOW).await.unwrap();
        let record = fixture.operator().trust_entry("eu").unwrap().unwrap();
        let fetch = record.trusted_list.unwrap().fetch.unwrap();
        assert_eq!((fetch.failures, fetch.failure.as_deref()), (failures, Some("connect_failed")));
    }
    fixture.store().refresh_list(fetched(token(7, 1)), NOW).await.unwrap();
    let record = fixture.operator().trust_entry("eu").unwrap().unwrap();
    assert_eq!(record.trusted_list.unwrap().fetch.unwrap().failures, 0);
}

pub(super) async fn the_newest_number_is_remembered_when_the_list_is_gone<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let mut operator = fixture.operator();
    for url in [Some(URL), None] {
        operator.add_trust("eu", &following(8, url), NOW).unwrap().unwrap();
        let record = operator.trust_entry("eu").unwrap().unwrap();
        let sha256: [u8; 32] = record.trusted_list.unwrap().row.sha256.try_into().unwrap();
        let removed = operator.remove_trust_material("eu", &sha256, NOW).unwrap().unwrap();
        assert_eq!((&*removed[0].kind, removed[0].roots), ("trusted_list", 1));
        assert!(operator.remove_trust("eu", NOW).unwrap());
        let error = operator.add_trust("eu", &following(7, url), NOW).unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error}");
        assert!(operator.trust_entry("eu").unwrap().is_none(), "all of it or nothing");
        let mut welcome = following(7, url);
        welcome.trusted_list.as_mut().unwrap().accept_rollback = true;
        operator.add_trust("eu", &welcome, NOW).unwrap().unwrap();
        assert!(operator.remove_trust("eu", NOW).unwrap());
    }
}

pub(super) async fn an_operators_change_of_how_a_list_is_taken_is_kept_over_new_issues<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let mut operator = fixture.operator();
    operator.add_trust("eu", &following(7, Some(URL)), NOW).unwrap().unwrap();
    let settings = ListSettings {
        providers: Some(vec!["NTRLU-1".into()]),
        profile: idgate_core::shell::ListProfile::from_name("etsi"),
        allow_stale: Some(true),
    };
    let change =
        TrustChange { list_settings: settings, etsi_tl: Some(true), ..TrustChange::default() };
    operator.add_trust("eu", &change, NOW).unwrap().unwrap();
    let outcome = operator.refresh_list(&fetched(token(8, 3)), NOW).unwrap();
    assert_eq!(outcome, Refreshed::New { from: 7, to: 8, providers: 3 });
    let record = operator.trust_entry("eu").unwrap().unwrap();
    assert_eq!(record.entry().etsi_tl, [URL]);
    let row = record.trusted_list.unwrap().row;
    assert_eq!((row.provider_ids(), row.allow_stale), (vec!["NTRLU-1".into()], true));
    assert_eq!(row.profile.as_deref(), Some("etsi"));
    assert_eq!(providers(&fixture, "eu"), 1);
    let sources = fixture.store().list_sources().await.unwrap();
    assert_eq!((sources[0].sequence, sources[0].listed), (8, 3));
    assert!(operator.add_trust("other", &change, NOW).is_err(), "an entry without a list");
}
