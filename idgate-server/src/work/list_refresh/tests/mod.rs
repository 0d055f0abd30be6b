//! Refreshing on virtual time: the times of fetches, and the effects of answers.

mod list_of_lists;

use std::collections::VecDeque;
use std::sync::Mutex;

use idgate_core::IssuerId;
use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::Identity;

use super::*;
use crate::config::{Environment, Quotas};
use idgate_base::clock::VirtualClock;
use idgate_store::{NewTrustedList, OperatorStore, Store, StoreOptions, TrustChange};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
const URL: &str = "https://lists.example/pid.json";
const DAY_MS: u64 = 24 * HOUR_MS;

type Answers = Arc<Mutex<VecDeque<Result<Vec<u8>, String>>>>;

/// A gateway with one trust entry, and the next answers to its fetches.
struct Gateway {
    dir: tempfile::TempDir,
    clock: VirtualClock,
    refresh: ListRefresh,
    answers: Answers,
    /// The URLs that it fetched.
    asked: Arc<Mutex<Vec<String>>>,
}

fn list(number: u64, providers: usize) -> TrustedList {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let services = [Kind::Pid.issuance(&[&root.der])];
    let list = TrustedList::new(Kind::Pid, NOW.0).numbered(number);
    (0..providers)
        .fold(list, |list, n| list.with(provider("P", &format!("NTRLU-{n}"), "LU", &services)))
}

fn token(list: &TrustedList) -> Vec<u8> {
    list.sign(&list_signer(NOW.0)).into_bytes()
}

fn options() -> StoreOptions<'static> {
    let environment = Environment::Production;
    StoreOptions { instance_key: None, environment, quotas: Quotas::default() }
}

impl Gateway {
    fn following(first: &TrustedList) -> Self {
        Self::with(&TrustChange {
            vct: Some(vec!["urn:eudi:pid:1".into()]),
            trusted_list: Some(NewTrustedList {
                url: Some(URL.into()),
                token: token(first),
                list_type: None,
                anchors: Some(list_signer(NOW.0).der),
                crls: None,
                accept_rollback: false,
            }),
            ..TrustChange::default()
        })
    }

    fn with(change: &TrustChange) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut operator = OperatorStore::open(dir.path(), None).unwrap();
        operator.add_trust("eu", change, NOW).unwrap().unwrap();
        let store = Arc::new(Store::open(dir.path(), options(), NOW).unwrap());
        let (clock, answers) = (VirtualClock::at(NOW), Answers::default());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (next, seen) = (answers.clone(), asked.clone());
        let fetch = move |url| -> Fetching {
            seen.lock().unwrap().push(url);
            let answer = next.lock().unwrap().pop_front();
            Box::pin(async move { answer.unwrap_or(Err("not expected".into())) })
        };
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let (every_ms, moved_bytes) = (6 * HOUR_MS, MAX_XML_LIST_BYTES);
        let refresh =
            ListRefresh { store, clock: shared, fetch: Arc::new(fetch), every_ms, moved_bytes };
        Self { dir, clock, refresh, answers, asked }
    }

    fn answer(&self, answer: Result<Vec<u8>, String>) {
        self.answers.lock().unwrap().push_back(answer);
    }

    /// Advances the clock by `ms`. Returns whether the source was fetched.
    async fn after(&self, ms: u64) -> bool {
        self.clock.advance(ms);
        self.refresh.look().await.unwrap() > 0
    }

    async fn roots(&self) -> usize {
        let trust = self.refresh.store.trust().await.unwrap();
        let entry = trust.entry(&IssuerId::new("eu")).unwrap();
        entry.sd_jwt_roots.iter().map(|root| root.providers().count()).sum()
    }

    async fn version(&self) -> u64 {
        self.refresh.store.trust().await.unwrap().version()
    }

    fn metrics(&self, line: &str) -> bool {
        self.refresh.store.telemetry().text().unwrap().contains(line)
    }
}

#[tokio::test]
async fn a_refresh_adds_and_removes_providers() {
    let gateway = Gateway::following(&list(7, 1));
    assert!(!gateway.after(0).await, "the list is not due");
    assert!(!gateway.after(5 * HOUR_MS).await);
    gateway.answer(Ok(token(&list(8, 2))));
    assert!(gateway.after(HOUR_MS).await);
    assert_eq!(gateway.roots().await, 2);
    gateway.answer(Ok(token(&list(9, 0))));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.roots().await, 0, "a list without providers is accepted");
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="new"} 2"#));
}

#[tokio::test]
async fn the_same_list_changes_nothing() {
    let gateway = Gateway::following(&list(7, 1));
    let before = gateway.version().await;
    gateway.answer(Ok(token(&list(7, 1))));
    assert!(gateway.after(6 * HOUR_MS).await);
    assert_eq!(gateway.version().await, before);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="same"} 1"#));
}

#[tokio::test]
async fn a_rollback_is_refused_even_after_a_restart_and_a_removal_of_the_entry() {
    let gateway = Gateway::following(&list(7, 1));
    let before = gateway.version().await;
    for refused in [list(6, 3), list(7, 3)] {
        gateway.answer(Ok(token(&refused)));
        assert!(gateway.after(6 * HOUR_MS).await);
    }
    assert_eq!((gateway.version().await, gateway.roots().await), (before, 1));
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="rollback"} 2"#));
    let dir = gateway.dir;
    drop(gateway.refresh);
    let mut operator = OperatorStore::open(dir.path(), None).unwrap();
    assert!(operator.remove_trust("eu", NOW).unwrap());
    let change = |number| TrustChange {
        vct: Some(vec!["urn:eudi:pid:1".into()]),
        trusted_list: Some(NewTrustedList {
            url: Some(URL.into()),
            token: token(&list(number, 1)),
            list_type: None,
            anchors: Some(list_signer(NOW.0).der),
            crls: None,
            accept_rollback: false,
        }),
        ..TrustChange::default()
    };
    let error = operator.add_trust("eu", &change(6), NOW).unwrap_err().to_string();
    assert!(error.contains("has number 6, and 7 was seen on"), "{error}");
    operator.add_trust("eu", &change(7), NOW).unwrap().unwrap();
}

#[tokio::test]
async fn an_unusable_or_forged_list_is_refused_and_changes_nothing() {
    let gateway = Gateway::following(&list(7, 1));
    let before = gateway.version().await;
    let stranger = Identity::issuer_root(Curve::P256, NOW.0);
    let forged = list(8, 3).sign(&stranger).into_bytes();
    let mdl = TrustedList::new(Kind::Mdl, NOW.0).numbered(8);
    let mut pause = 6 * HOUR_MS;
    for answer in [b"<html>log in</html>".to_vec(), b"log in".to_vec(), forged, token(&mdl)] {
        gateway.answer(Ok(answer));
        assert!(gateway.after(pause).await);
        pause = HOUR_MS;
    }
    assert_eq!((gateway.version().await, gateway.roots().await), (before, 1));
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="refused"} 4"#));
}

#[tokio::test]
async fn a_failed_fetch_is_repeated_after_5_minutes_doubling_to_an_hour() {
    let gateway = Gateway::following(&list(7, 1));
    gateway.answer(Err("connect_failed".into()));
    assert!(gateway.after(6 * HOUR_MS).await);
    for minutes in [5, 10, 20, 40, 60, 60, 60] {
        assert!(!gateway.after(minutes * MINUTE_MS / 2).await, "{minutes}");
        gateway.answer(Err("connect_failed".into()));
        assert!(gateway.after(minutes * MINUTE_MS / 2).await, "{minutes}");
    }
    gateway.answer(Ok(token(&list(8, 2))));
    assert!(gateway.after(HOUR_MS).await);
    assert_eq!(gateway.roots().await, 2);
    assert!(!gateway.after(HOUR_MS).await, "a success ends the short pauses");
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="fetch_failed"} 8"#));
}

#[tokio::test]
async fn on_its_last_day_a_list_is_fetched_every_hour_and_then_no_issuer_is_trusted() {
    let gateway = Gateway::following(&list(7, 1));
    gateway.answer(Ok(token(&list(7, 1))));
    assert!(gateway.after(88 * DAY_MS + HOUR_MS).await);
    gateway.answer(Ok(token(&list(7, 1))));
    assert!(gateway.after(HOUR_MS).await);
    let trust = gateway.refresh.store.trust().await.unwrap();
    let root = &trust.entry(&IssuerId::new("eu")).unwrap().sd_jwt_roots[0];
    assert!(root.is_in_force(NOW.plus(89 * DAY_MS - 1)));
    assert!(!root.is_in_force(NOW.plus(89 * DAY_MS)));
    // An overdue list does not renew itself.
    gateway.answer(Ok(token(&list(7, 1))));
    assert!(gateway.after(DAY_MS).await);
    assert!(gateway.metrics(r#"idgate_trusted_list_refresh_total{outcome="refused"} 1"#));
}

#[tokio::test]
async fn a_clock_set_back_does_not_delay_a_fetch() {
    let gateway = Gateway::following(&list(7, 1));
    gateway.clock.set(NOW.minus(HOUR_MS));
    gateway.answer(Err("connect_failed".into()));
    assert_eq!(gateway.refresh.look().await.unwrap(), 1);
    assert_eq!(gateway.refresh.look().await.unwrap(), 0);
}
