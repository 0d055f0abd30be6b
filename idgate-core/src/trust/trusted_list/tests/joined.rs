//! Entries of a list that belong to one provider.

use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{provider, with_status};

use super::*;

#[test]
fn an_identifier_alone_does_not_make_two_entries_one_provider() {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let notified = Kind::PubEaa.issuance(&[&root.der]);
    let list = made(Kind::PubEaa)
        .with(provider("One", "NTRLU-1", "LU", std::slice::from_ref(&notified)))
        .with(provider("Two", "NTRLU-1", "LU", std::slice::from_ref(&notified)))
        .with(provider("One", "NTRLU-1", "LU", &[notified]));
    let list = import_made(&list).unwrap();
    let of = |listed: &ListedProvider| (listed.provider.name.clone(), listed.services.len());
    let providers: Vec<_> = list.providers.iter().map(of).collect();
    assert_eq!(providers, [("One".into(), 2), ("Two".into(), 1)]);
}

#[test]
fn a_withdrawn_key_is_withdrawn_in_all_entries_with_the_identifier() {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let notified = Kind::PubEaa.issuance(&[&root.der]);
    let withdrawn = with_status(notified.clone(), "withdrawn");
    let roots = |identifier| {
        let list = made(Kind::PubEaa)
            .with(provider("Former name", "NTRLU-1", "LU", std::slice::from_ref(&withdrawn)))
            .with(provider("New name", identifier, "LU", std::slice::from_ref(&notified)));
        import_made(&list).unwrap().providers[1].services[0].roots().len()
    };
    assert_eq!(roots("NTRLU-1"), 0);
    assert_eq!(roots("NTRLU-2"), 1);
    // Any of its identifiers counts.
    let mut former = provider("Former name", "VATLU-9", "LU", &[withdrawn]);
    let names = former["TrustedEntityInformation"]["TETradeName"].as_array_mut().unwrap();
    names.push(serde_json::json!({ "lang": "en", "value": "NTRLU-1" }));
    let new = provider("New name", "NTRLU-1", "LU", std::slice::from_ref(&notified));
    let list = import_made(&made(Kind::PubEaa).with(former).with(new)).unwrap();
    assert!(list.providers[1].services[0].roots().is_empty());
}
