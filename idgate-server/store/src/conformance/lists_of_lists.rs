//! Lists of lists: an entry changes to a new one together with the list that it names.

use idgate_core::IssuerId;
use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, compact_utc};
use idgate_testkit::trusted_list::{list_ca, list_signer, list_signer_below, other_list_signer};
use idgate_testkit::x509::{Identity, key_identifier};
use idgate_testkit::xml_list::{XmlSigner, list_of_utopia, naming_utopia};

use super::*;
use crate::{FetchedListOfLists, NewListOfLists};

const OF_LISTS: &str = "https://lists.example/lotl.xml";
const UTOPIA: &str = "https://ut.example/list.xml";
const MOVED: &str = "https://ut.example/moved.xml";

fn national_signer(seed: &str) -> Identity {
    other_list_signer(seed, NOW.0)
}

fn of_lists(number: u64, url: &str, signer: &Identity) -> Vec<u8> {
    naming_utopia(number, url, signer, NOW.0).sign(&list_signer(NOW.0)).into_bytes()
}

fn national(number: u64, providers: usize, signer: &Identity) -> Vec<u8> {
    list_of_utopia(number, providers, NOW.0).sign(signer).into_bytes()
}

fn following(signer: &Identity) -> TrustChange {
    let list = |url: &str, token, anchors| NewTrustedList {
        url: Some(url.into()),
        token,
        list_type: Some(idgate_core::trust::ListType::Qeaa),
        anchors: Some(anchors),
        crls: None,
        accept_rollback: false,
    };
    TrustChange {
        vct: Some(vec!["urn:example:diploma:1".into()]),
        trusted_list: Some(list(UTOPIA, national(20, 1, signer), signer.der.clone())),
        list_of_lists: Some(NewListOfLists {
            url: Some(OF_LISTS.into()),
            token: of_lists(7, UTOPIA, signer),
            country: "UT".into(),
            anchors: Some(list_signer(NOW.0).der),
            crls: None,
            accept_rollback: false,
        }),
        ..TrustChange::default()
    }
}

fn followed<B: Backend>(signer: &Identity) -> Fixture<B> {
    let fixture = Fixture::<B>::new();
    for issuer_id in ["ut", "ut-too"] {
        fixture.operator().add_trust(issuer_id, &following(signer), NOW).unwrap().unwrap();
    }
    fixture
}

fn fetched(url: &str, token: Vec<u8>) -> FetchedList {
    FetchedList { url: url.into(), token, accept_rollback: false }
}

/// The outcome of a fetched list of lists. `named`: the answers of the URLs that it names.
fn refresh<B: Backend>(
    fixture: &Fixture<B>,
    token: Vec<u8>,
    named: Vec<(String, Result<Vec<u8>, String>)>,
) -> Refreshed {
    let fetched = FetchedListOfLists { list: fetched(OF_LISTS, token), named };
    fixture.store().refresh_list_of_lists(fetched, NOW.plus(1000)).wait().unwrap()
}

/// The numbers of the list of lists and of the list of an entry, and the URL of the list.
fn in_force<B: Backend>(fixture: &Fixture<B>, issuer_id: &str) -> (u64, u64, String) {
    let record = fixture.operator().trust_entry(issuer_id).unwrap().unwrap();
    let row = record.trusted_list.unwrap().row;
    (record.list_of_lists.unwrap().sequence, row.sequence, row.url.unwrap())
}

fn providers<B: Backend>(fixture: &Fixture<B>, issuer_id: &str) -> usize {
    let trust = fixture.store().trust().wait().unwrap();
    let entry = trust.entry(&IssuerId::new(issuer_id)).unwrap();
    entry.sd_jwt_roots.iter().map(|root| root.providers().count()).sum()
}

pub(super) async fn a_new_one_comes_into_force_with_the_list_that_it_names<B: Backend>() {
    let (first, next) = (national_signer("first"), national_signer("next"));
    let fixture = followed::<B>(&first);
    let sources = fixture.store().list_sources().await.unwrap();
    let seen: Vec<_> = sources.iter().map(|one| (&*one.url, one.of_lists, one.sequence)).collect();
    assert_eq!(seen, [(OF_LISTS, true, 7), (UTOPIA, false, 20)]);
    let before = fixture.store().trust().wait().unwrap().version();
    assert_eq!(refresh(&fixture, of_lists(7, UTOPIA, &first), Vec::new()), Refreshed::Same);
    assert_eq!(fixture.store().trust().wait().unwrap().version(), before);
    // One that was only signed again is stored, because its signer may be another one.
    let again = naming_utopia(7, UTOPIA, &first, NOW.0).text();
    let signer = list_signer(NOW.0);
    let signed_at = NOW.plus(1000).to_string();
    let again = XmlSigner::of(&signer, &signed_at).sign(&again).into_bytes();
    assert_eq!(refresh(&fixture, again.clone(), Vec::new()), Refreshed::Same);
    let stored = fixture.operator().trust_entry("ut").unwrap().unwrap().list_of_lists.unwrap();
    assert_eq!(stored.token, again);
    assert_eq!(fixture.store().trust().wait().unwrap().version(), before);
    // It names the same list: nothing else is fetched.
    let same_list = fetched(OF_LISTS, of_lists(8, UTOPIA, &first));
    assert_eq!(fixture.store().moved_lists(same_list.clone(), NOW).await.unwrap(), [""; 0]);
    let outcome = refresh(&fixture, same_list.token, Vec::new());
    assert_eq!(outcome, Refreshed::New { from: 7, to: 8, providers: 1 });
    assert_eq!(in_force(&fixture, "ut"), (8, 20, UTOPIA.into()));
    // It names another URL and another signer.
    let moved = of_lists(9, MOVED, &next);
    let urls = fixture.store().moved_lists(fetched(OF_LISTS, moved.clone()), NOW).await.unwrap();
    assert_eq!(urls, [MOVED]);
    let named = vec![(MOVED.into(), Ok(national(21, 2, &next)))];
    let outcome = refresh(&fixture, moved, named);
    assert_eq!(outcome, Refreshed::New { from: 8, to: 9, providers: 1 });
    for issuer_id in ["ut", "ut-too"] {
        assert_eq!(in_force(&fixture, issuer_id), (9, 21, MOVED.into()));
        assert_eq!(providers(&fixture, issuer_id), 2);
    }
    assert!(fixture.store().trust().wait().unwrap().version() > before);
    let mut log = Vec::new();
    fixture.operator().export_audit(Some("operator"), &mut log).unwrap();
    let log: serde_json::Value = serde_json::from_slice(&log).unwrap();
    let renewed = log["entries"].as_array().unwrap().iter();
    let renewed: Vec<_> = renewed.filter(|entry| entry["actor"] == "system").collect();
    assert_eq!(renewed.len(), 4, "one for each entry and change: {log}");
    let change = serde_json::json!({ "from": 20, "providers": 2, "providers_before": 1, "to": 21 });
    assert!(renewed[2..].iter().all(|entry| entry["list"] == change), "{log}");
    let elsewhere = fetched("https://a", of_lists(10, UTOPIA, &first));
    let elsewhere = FetchedListOfLists { list: elsewhere, named: Vec::new() };
    let outcome = fixture.store().refresh_list_of_lists(elsewhere, NOW).await.unwrap();
    assert_eq!(outcome, Refreshed::Unwanted);
}

pub(super) async fn one_whose_list_does_not_verify_changes_nothing<B: Backend>() {
    let (first, next) = (national_signer("first"), national_signer("next"));
    let fixture = followed::<B>(&first);
    let moved = || of_lists(8, MOVED, &next);
    let named = |token: Result<Vec<u8>, String>| vec![(String::from(MOVED), token)];
    for (named, name, why) in [
        (Vec::new(), "fetch_failed", "names https://ut.example/moved.xml, which was not fetched"),
        (named(Err("timeout".into())), "fetch_failed", "which was not fetched: timeout"),
        (
            named(Ok(national(21, 2, &first))),
            "refused",
            "the trusted list has a signer that the list of lists does not name",
        ),
        (named(Ok(national(19, 2, &next))), "rollback", "has number 19, and 20 was seen on"),
    ] {
        let outcome = refresh(&fixture, moved(), named);
        assert_eq!(outcome.name(), name, "{outcome:?}");
        assert!(outcome.failure().unwrap().contains(why), "{outcome:?}");
        assert_eq!(in_force(&fixture, "ut"), (7, 20, UTOPIA.into()));
        assert_eq!(providers(&fixture, "ut"), 1);
    }
    let fetch = |fixture: &Fixture<B>| {
        let record = fixture.operator().trust_entry("ut").unwrap().unwrap();
        record.list_of_lists.unwrap().fetch.unwrap()
    };
    assert_eq!((fetch(&fixture).failures, fetch(&fixture).tried_at), (4, NOW.plus(1000)));
    let why = String::from("connect_failed");
    fixture.store().note_list_of_lists_failure(OF_LISTS.into(), why, NOW).await.unwrap();
    assert_eq!(fetch(&fixture).failures, 5);
    assert_eq!(fetch(&fixture).failure.as_deref(), Some("connect_failed"));
    let outcome = refresh(&fixture, moved(), named(Ok(national(21, 2, &next))));
    assert_eq!(outcome.name(), "new");
    assert_eq!((fetch(&fixture).failures, fetch(&fixture).failure), (0, None));
    let older = refresh(&fixture, of_lists(7, UTOPIA, &first), Vec::new());
    assert_eq!(older.name(), "rollback", "{older:?}");
}

pub(super) async fn below_a_ca_the_organization_of_the_first_signer_is_fixed<B: Backend>() {
    let (fixture, signer) = (Fixture::<B>::new(), national_signer("first"));
    let ca = list_ca(NOW.0);
    let by = |number, organization: &str| {
        let mut list = naming_utopia(number, UTOPIA, &signer, NOW.0);
        list.operator = organization.into();
        list.sign(&list_signer_below(&ca, organization, NOW.0)).into_bytes()
    };
    let mut change = following(&signer);
    let lists = change.list_of_lists.as_mut().unwrap();
    (lists.token, lists.anchors) = (by(7, "Example Operator"), Some(ca.der.clone()));
    fixture.operator().add_trust("ut", &change, NOW).unwrap().unwrap();
    let refused = refresh(&fixture, by(8, "Another Customer"), Vec::new());
    let why = "the list of lists is signed for O=Another Customer, and this source is of O=Example \
               Operator";
    assert_eq!((refused.name(), refused.failure()), ("refused", Some(why)));
    assert_eq!(refresh(&fixture, by(8, "Example Operator"), Vec::new()).name(), "new");
}

pub(super) async fn a_crl_of_its_ca_revokes_its_signer<B: Backend>() {
    let (fixture, signer) = (Fixture::<B>::new(), national_signer("first"));
    let ca = list_ca(NOW.0);
    let own = list_signer_below(&ca, "Example Operator", NOW.0);
    let (issuer, identifier) = (ca.builder.subject.der(), key_identifier(&ca.key));
    let (made, next) = (compact_utc(NOW.0 - DAY_MS), compact_utc(NOW.0 + DAY_MS));
    let crl = Crl::new(&issuer, &identifier, &made, &next);
    let good = crl.sign(&ca.key);
    // The content of an INTEGER, which is positive.
    let serial = [&[0; 1][..usize::from(own.builder.serial[0] >= 0x80)], &own.builder.serial];
    let revoking = crl.revoke(&serial.concat()).sign(&ca.key);
    let by = |number| naming_utopia(number, UTOPIA, &signer, NOW.0).sign(&own).into_bytes();
    let with = |number, crl: Vec<u8>| {
        let mut change = following(&signer);
        let lists = change.list_of_lists.as_mut().unwrap();
        (lists.token, lists.anchors, lists.crls) = (by(number), Some(ca.der.clone()), Some(crl));
        fixture.operator().add_trust("ut", &change, NOW)
    };
    with(7, good.clone()).unwrap().unwrap();
    let refused = with(8, revoking).unwrap_err();
    assert!(refused.to_string().contains("the list of lists"), "{refused}");
    assert!(refused.to_string().contains("revoked"), "{refused}");
    assert_eq!(in_force(&fixture, "ut").0, 7);
    // The CRL stays for the lists that are fetched.
    assert_eq!(refresh(&fixture, by(8), Vec::new()).name(), "new");
    let record = fixture.operator().trust_entry("ut").unwrap().unwrap();
    assert_eq!(record.list_of_lists.unwrap().crls, good);
}

pub(super) async fn it_is_removed_with_its_list<B: Backend>() {
    let signer = national_signer("first");
    let fixture = followed::<B>(&signer);
    let mut operator = fixture.operator();
    let hash = |operator: &OperatorStore, of: fn(&TrustRecord) -> Vec<u8>| -> [u8; 32] {
        of(&operator.trust_entry("ut").unwrap().unwrap()).try_into().unwrap()
    };
    let hashes: [fn(&TrustRecord) -> Vec<u8>; 2] = [
        |record| record.list_of_lists.as_ref().unwrap().sha256.clone(),
        |record| record.trusted_list.as_ref().unwrap().row.sha256.clone(),
    ];
    for of in hashes {
        let sha256 = hash(&operator, of);
        let removed = operator.remove_trust_material("ut", &sha256, NOW).unwrap().unwrap();
        assert_eq!((&*removed[0].kind, removed[0].roots), ("trusted_list", 1));
        let record = operator.trust_entry("ut").unwrap().unwrap();
        assert!(record.trusted_list.is_none() && record.list_of_lists.is_none());
        operator.add_trust("ut", &following(&signer), NOW).unwrap().unwrap();
    }
    // A list that the operator names replaces both.
    let mut own = following(&signer);
    own.list_of_lists = None;
    operator.add_trust("ut", &own, NOW).unwrap().unwrap();
    let record = operator.trust_entry("ut").unwrap().unwrap();
    assert!(record.trusted_list.is_some() && record.list_of_lists.is_none());
    assert!(operator.remove_trust("ut", NOW).unwrap());
    assert!(operator.remove_trust("ut-too", NOW).unwrap());
    assert!(fixture.store().list_sources().await.unwrap().is_empty());
    // The newest number is remembered.
    let mut older = following(&signer);
    older.list_of_lists.as_mut().unwrap().token = of_lists(6, UTOPIA, &signer);
    let error = operator.add_trust("ut", &older, NOW).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    assert!(operator.trust_entry("ut").unwrap().is_none(), "all of it or nothing");
}
