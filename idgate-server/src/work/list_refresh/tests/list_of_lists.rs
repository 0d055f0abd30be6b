//! An entry that follows a list of lists: both lists are fetched, and a new list of lists brings the
//! list that it names.

use idgate_testkit::keys::SigningKey;
use idgate_testkit::xml_list::{GRANTED, QEAA, XmlKind, XmlList, pointer, provider, service};

use super::*;
use idgate_store::NewListOfLists;

const OF_LISTS: &str = "https://lists.example/lotl.xml";
const UTOPIA: &str = "https://ut.example/list.xml";
const MOVED: &str = "https://ut.example/moved.xml";

fn national_signer(seed: &str) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, seed);
    list_signer(NOW.0).builder.with(|one| one.spki = key.public_spki()).self_sign(&key)
}

fn of_lists(number: u64, url: &str, signer: &Identity) -> Vec<u8> {
    let list = XmlList::new(XmlKind::OfLists, NOW.0).numbered(number);
    list.pointing(&[pointer("UT", url, &[&signer.der])]).sign(&list_signer(NOW.0)).into_bytes()
}

fn national(number: u64, providers: usize, signer: &Identity) -> Vec<u8> {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let services = [service(QEAA, GRANTED, &[&root.der])];
    let list = XmlList::new(XmlKind::National, NOW.0).numbered(number);
    let list = (0..providers).fold(list, |list, n| {
        list.with(provider(&format!("P {n}"), &format!("VATUT-{n}"), "UT", &services))
    });
    list.sign(signer).into_bytes()
}

fn gateway(signer: &Identity) -> Gateway {
    let list = |url: &str, token, anchors| NewTrustedList {
        url: Some(url.into()),
        token,
        list_type: Some(idgate_core::trust::ListType::Qeaa),
        anchors: Some(anchors),
        crls: None,
        accept_rollback: false,
    };
    Gateway::with(&TrustChange {
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
    })
}

impl Gateway {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[tokio::test]
async fn a_new_list_of_lists_brings_the_list_that_it_names() {
    let (first, next) = (national_signer("first"), national_signer("next"));
    let gateway = gateway(&first);
    gateway.answer(Ok(of_lists(7, UTOPIA, &first)));
    gateway.answer(Ok(national(20, 1, &first)));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.asked(), [OF_LISTS, UTOPIA]);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="same"} 2"#));
    // The list is at another URL, with another signer. Its fetch comes at once.
    gateway.answer(Ok(of_lists(8, MOVED, &next)));
    gateway.answer(Ok(national(21, 2, &next)));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.asked(), [OF_LISTS, MOVED], "the former URL is not fetched any more");
    assert_eq!(gateway.roots().await, 2);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="new"} 1"#));
    let sources = gateway.refresh.store.list_sources().await.unwrap();
    let seen: Vec<_> = sources.iter().map(|one| (&*one.url, one.sequence)).collect();
    assert_eq!(seen, [(OF_LISTS, 8), (MOVED, 21)]);
}

#[tokio::test]
async fn a_list_of_lists_whose_list_cannot_be_fetched_is_fetched_again() {
    let (first, next) = (national_signer("first"), national_signer("next"));
    let gateway = gateway(&first);
    gateway.answer(Ok(of_lists(8, MOVED, &next)));
    gateway.answer(Err("connect_failed".into()));
    gateway.answer(Ok(national(20, 1, &first)));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.asked(), [OF_LISTS, MOVED, UTOPIA]);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="fetch_failed"} 1"#));
    assert_eq!(gateway.roots().await, 1);
    gateway.answer(Ok(of_lists(8, MOVED, &next)));
    gateway.answer(Ok(national(21, 2, &next)));
    assert!(gateway.after(5 * MINUTE_MS).await);
    assert_eq!(gateway.asked(), [OF_LISTS, MOVED]);
    assert_eq!(gateway.roots().await, 2);
}

#[tokio::test]
async fn a_failed_fetch_of_a_list_of_lists_does_not_delay_the_list() {
    let first = national_signer("first");
    let gateway = gateway(&first);
    gateway.answer(Err("connect_failed".into()));
    gateway.answer(Ok(national(21, 2, &first)));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.asked(), [OF_LISTS, UTOPIA]);
    assert_eq!(gateway.roots().await, 2);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="fetch_failed"} 1"#));
}
