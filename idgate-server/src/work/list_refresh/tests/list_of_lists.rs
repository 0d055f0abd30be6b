//! An entry that follows a list of lists: both lists are fetched, and a new list of lists brings the
//! list that it names.

use idgate_testkit::trusted_list::other_list_signer;
use idgate_testkit::xml_list::{
    GRANTED, QEAA, XmlKind, XmlList, list_of_utopia, naming_utopia, pointer, provider, service,
};

use super::*;
use idgate_store::NewListOfLists;

const OF_LISTS: &str = "https://lists.example/lotl.xml";
const UTOPIA: &str = "https://ut.example/list.xml";
const MOVED: &str = "https://ut.example/moved.xml";
const OF_TWO: &str = "https://lists.example/two.xml";
const OTHER: &str = "https://xx.example/moved.xml";

fn national_signer(seed: &str) -> Identity {
    other_list_signer(seed, NOW.0)
}

fn of_lists(number: u64, url: &str, signer: &Identity) -> Vec<u8> {
    naming_utopia(number, url, signer, NOW.0).sign(&list_signer(NOW.0)).into_bytes()
}

fn national(number: u64, providers: usize, signer: &Identity) -> Vec<u8> {
    list_of_utopia(number, providers, NOW.0).sign(signer).into_bytes()
}

/// An entry that follows the list of `country` at a URL, by the list of lists at another.
fn following(
    country: &str,
    (of_lists, lists): (&str, Vec<u8>),
    (url, token): (&str, Vec<u8>),
    signer: &Identity,
) -> TrustChange {
    TrustChange {
        vct: Some(vec!["urn:example:diploma:1".into()]),
        trusted_list: Some(NewTrustedList {
            url: Some(url.into()),
            token,
            list_type: Some(idgate_core::trust::ListType::Qeaa),
            anchors: Some(signer.der.clone()),
            crls: None,
            accept_rollback: false,
        }),
        list_of_lists: Some(NewListOfLists {
            url: Some(of_lists.into()),
            token: lists,
            country: country.into(),
            anchors: Some(list_signer(NOW.0).der),
            crls: None,
            accept_rollback: false,
        }),
        ..TrustChange::default()
    }
}

fn gateway(signer: &Identity) -> Gateway {
    let lists = (OF_LISTS, of_lists(7, UTOPIA, signer));
    Gateway::with(&following("UT", lists, (UTOPIA, national(20, 1, signer)), signer))
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

#[tokio::test]
async fn lists_that_moved_wait_for_the_next_try_when_those_before_them_are_long() {
    let first = national_signer("first");
    let mut gateway = gateway(&first);
    gateway.refresh.moved_bytes = 1;
    let of_two = |number, urls: [&str; 2]| {
        let [utopia, other] = urls;
        let pointers = [pointer("UT", utopia, &[&first.der]), pointer("XX", other, &[&first.der])];
        let list = XmlList::new(XmlKind::OfLists, NOW.0).numbered(number).pointing(&pointers);
        list.sign(&list_signer(NOW.0)).into_bytes()
    };
    let other = |number| {
        let root = Identity::issuer_root(Curve::P256, NOW.0);
        let services = [service(QEAA, GRANTED, &[&root.der])];
        let list = XmlList::new(XmlKind::National, NOW.0).numbered(number);
        let list = list.with(provider("Other", "VATXX-1", "XX", &services));
        XmlList { territory: "XX".into(), ..list }.sign(&first).into_bytes()
    };
    let [before, after] = [["https://a.example/1", "https://b.example/1"], [MOVED, OTHER]];
    let mut operator = OperatorStore::open(gateway.dir.path(), None).unwrap();
    let lists = of_two(8, before);
    for (issuer_id, country, url, token) in
        [("ut", "UT", before[0], national(20, 1, &first)), ("xx", "XX", before[1], other(30))]
    {
        let change = following(country, (OF_TWO, lists.clone()), (url, token), &first);
        operator.add_trust(issuer_id, &change, NOW).unwrap().unwrap();
    }
    let sequences = |operator: &OperatorStore| {
        ["ut", "xx"].map(|issuer_id| {
            let record = operator.trust_entry(issuer_id).unwrap().unwrap();
            record.trusted_list.unwrap().row.sequence
        })
    };
    let answers = [
        Ok(of_lists(7, UTOPIA, &first)),
        Ok(of_two(9, after)),
        Ok(national(21, 1, &first)),
        Ok(other(30)),
        Ok(national(20, 1, &first)),
    ];
    answers.into_iter().for_each(|answer| gateway.answer(answer));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.asked()[..3], [OF_LISTS, OF_TWO, MOVED]);
    assert_eq!(sequences(&operator), [21, 30], "the other entry keeps its list");
    gateway.answer(Ok(of_two(9, after)));
    gateway.answer(Ok(other(31)));
    assert!(gateway.after(5 * MINUTE_MS).await);
    assert_eq!(gateway.asked(), [OF_TWO, OTHER]);
    assert_eq!(sequences(&operator), [21, 31]);
}
