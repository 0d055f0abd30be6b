//! A gateway whose database is unreachable, or used by other nodes.

use std::collections::BTreeSet;
use std::time::Duration;

use idgate_core::shell::webhook::SigningSecret;
use idgate_core::{Reason, Session, SessionId, UnixMillis};

use super::super::conformance::{Backend, Fixture, NOW, PostgresDatabase, verify};
use super::super::wait::Wait as _;
use super::super::*;
use super::proxy::Proxy;
use idgate_base::api_key::{ApiKey, signing_secret};
use idgate_base::clock::{Clock as _, Moment, VirtualClock};
use idgate_base::entropy::OsEntropy;
use idgate_testkit::patience::until;

type Nodes = Fixture<PostgresDatabase>;

const HOST: &str = "hooks.example";
/// How long a change waits behind others of its client, and how long anything else may take.
const TURN: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(14);
/// How long a readiness check may take.
const PROBE: Duration = Duration::from_millis(1800);
/// When a session of [`NOW`] expires.
const THEN: UnixMillis = NOW.plus(300_000);

/// A store whose database is behind a proxy, and the clock of its timeouts.
fn behind() -> Option<(Nodes, Proxy, VirtualClock)> {
    if !PostgresDatabase::is_there() {
        return None;
    }
    let mut fixture = Nodes::new();
    let (proxy, clock) = (Proxy::to(&fixture.backend.socket()), VirtualClock::at(NOW));
    fixture.close();
    fixture.store = Some(fixture.backend.open_through(proxy.port, &clock));
    Some((fixture, proxy, clock))
}

/// The clock of timeouts does not move, so none of these results comes from a timeout.
#[tokio::test]
async fn a_lost_database_connection_is_reported_and_recovered_within_2_seconds() {
    let Some((fixture, proxy, _clock)) = behind() else { return };
    let session = fixture.session(&fixture.live).await;
    let (store, new) = (fixture.store(), fixture.new_session(&fixture.live, NOW));
    proxy.cut();
    until("it is not ready", async || store.probe().await.is_err()).await;
    let unavailable = |error| matches!(error, StoreError::Unavailable(_));
    assert!(unavailable(store.session(session.id()).await.unwrap_err()));
    assert!(unavailable(store.commit(verify(&session, NOW, "{}"), None).await.unwrap_err()));
    let made = store.create_session(&fixture.live, new.clone()).await;
    assert!(unavailable(made.unwrap_err()));
    proxy.pass();
    until("it is ready", async || store.probe().await.is_ok()).await;
    let same = store.session(session.id()).await.unwrap().unwrap();
    assert_eq!(same.revision(), session.revision(), "the session stays");
    assert_eq!(store.create_session(&fixture.live, new).await.unwrap(), Made::Yes);
}

#[tokio::test]
async fn a_frozen_database_is_reported_within_15_seconds() {
    let Some((fixture, proxy, clock)) = behind() else { return };
    let session = fixture.session(&fixture.live).await;
    proxy.freeze();
    let store = fixture.store();
    let settle = || store.commit(verify(&session, NOW, "{}"), None);
    let (read, first, second) = (store.session(session.id()), settle(), settle());
    let passing = async {
        // The first is being written, and the second waits behind it.
        clock.until_waiting_for(TURN, 2).await;
        clock.until_waiting_for(ANSWER - TURN, 1).await;
        clock.until_waiting_for(ANSWER, 1).await;
        clock.pass(TURN).await;
        clock.pass(ANSWER - TURN).await;
    };
    let (read, first, second, ()) = tokio::join!(read, first, second, passing);
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    assert!(matches!(first, Err(StoreError::Unavailable(_))), "{first:?}");
    assert!(matches!(second, Err(StoreError::Busy)), "it waits behind the first: {second:?}");
    assert!(clock.steady() < Duration::from_secs(15));
    // Readiness is answered sooner.
    let before = clock.steady();
    let asking = async {
        clock.until_waiting_for(PROBE, 1).await;
        clock.pass(PROBE).await;
    };
    assert!(tokio::join!(store.probe(), asking).0.is_err());
    assert!(clock.steady() - before < Duration::from_secs(2));
    proxy.pass();
    until("it is ready", async || store.probe().await.is_ok()).await;
}

#[tokio::test]
async fn the_outcome_of_an_unacknowledged_commit_is_looked_up() {
    let Some((fixture, proxy, _clock)) = behind() else { return };
    let (store, live) = (fixture.store(), &fixture.live);
    let made = fixture.new_session(live, NOW);
    let session = made.session.clone();
    proxy.lose_the_next_commit();
    assert_eq!(store.create_session(live, made).await.unwrap(), Made::Yes);
    assert!(proxy.has_lost_it());
    proxy.lose_the_next_commit();
    let verified = || verify(&session, NOW, "{}");
    assert_eq!(store.commit(verified(), None).await.unwrap(), Committed::Yes);
    assert!(proxy.has_lost_it());
    assert_eq!(store.commit(verified(), None).await.unwrap(), Committed::LostRace);
    proxy.lose_the_next_commit();
    let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
    let record = ApiKeyRecord {
        id: "key_new".into(),
        name: None,
        scopes: None,
        revoked: false,
        livemode: true,
        created_at: NOW,
        expires_at: None,
        last_used_at: None,
    };
    let new = NewApiKey { record, value: KeyValue::of(&key) };
    assert_eq!(store.create_api_key(live, new).await.unwrap(), KeyMade::Yes);
    assert!(proxy.has_lost_it());
    assert!(store.authenticate(&key.digest(), NOW).await.unwrap().is_some());
    proxy.lose_the_next_commit();
    let revoked = store.revoke_api_key(live, "key_new", NOW).await;
    assert_eq!(revoked.unwrap(), KeyRevoked::Yes);
    let report = fixture.operator().verify_audit(Some(live.client_id.as_str()), &[]).unwrap();
    // The first key, a session created and settled, a key created and revoked: one entry each.
    assert_eq!((report.entries, report.breaches.len()), (5, 0), "{report:?}");
}

#[tokio::test]
async fn every_node_knows_the_number_of_nodes() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    assert_eq!(fixture.store().nodes(), 1);
    let other = fixture.backend.open(NOW);
    assert_eq!(other.nodes(), 2, "before it serves");
    // The first node knows what was granted before the second one joined.
    assert_eq!((fixture.store().joined(), other.joined()), (UnixMillis(0), NOW));
    assert_eq!(fixture.store().nodes(), 2, "earlier nodes know as well");
    drop(other);
    until("its end is known", async || fixture.store().nodes() == 1).await;
}

/// A copy of one node would often be out of date because of another.
#[tokio::test]
async fn several_nodes_recall_no_sessions_from_memory() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let store = fixture.store();
    store.in_force(Moment::now()).await.unwrap();
    let recalls = |session: &Session| store.recall(session.id().as_str()).is_some();
    let made_alone = fixture.session(&fixture.live).await;
    assert!(recalls(&made_alone));
    let other = fixture.backend.open(NOW);
    let made_with_another = fixture.session(&fixture.live).await;
    assert!(!recalls(&made_alone) && !recalls(&made_with_another));
    drop(other);
    until("its end is known", async || store.nodes() == 1).await;
    assert!(recalls(&made_alone));
    assert!(!recalls(&made_with_another), "it was not kept");
}

/// One node is the first, and the others know that they are not.
#[tokio::test]
async fn of_nodes_that_start_together_only_one_grants_whole_limits() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let backend = PostgresDatabase::new();
    let stores: Vec<Store> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| backend.open(NOW))).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect()
    });
    let first = stores.iter().filter(|store| store.joined() == UnixMillis(0)).count();
    assert_eq!(first, 1);
    until("all are known", async || stores.iter().all(|store| store.nodes() == 4)).await;
}

#[tokio::test]
async fn a_sessions_rate_limit_is_counted_over_all_nodes() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.session(&fixture.live).await;
    let rate = SessionRate { name: "answers", burst: 6, window_ms: 60_000 };
    let alone = fixture.store().charge_session(session.id(), rate);
    assert_eq!(alone.await.unwrap(), None);
    let other = fixture.backend.open(NOW);
    for n in 0..6 {
        let node = if n % 2 == 0 { fixture.store() } else { &other };
        assert_eq!(node.charge_session(session.id(), rate).await.unwrap(), None, "{n}");
    }
    for node in [fixture.store(), &other] {
        let wait = node.charge_session(session.id(), rate).await.unwrap().unwrap();
        assert!((1..=10_000).contains(&wait), "{wait}");
    }
    let requests = SessionRate { name: "requests", ..rate };
    assert_eq!(other.charge_session(session.id(), requests).await.unwrap(), None);
    let none = SessionId::new("ses_none");
    assert_eq!(
        other.charge_session(&none, rate).await.unwrap(),
        None,
        "the session does not exist"
    );
}

#[tokio::test]
async fn one_node_expires_sessions_and_another_takes_over() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    fixture.session(&fixture.live).await;
    let other = fixture.backend.open(NOW);
    assert_eq!(other.due_sessions(THEN, 9).await.unwrap().len(), 1);
    for _ in 0..3 {
        assert!(fixture.store().due_sessions(THEN, 9).await.unwrap().is_empty());
        assert_eq!(other.due_sessions(THEN, 9).await.unwrap().len(), 1);
    }
    drop(other);
    assert_eq!(fixture.store().due_sessions(THEN, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_duty_is_leased_by_one_node_and_taken_over_when_it_ends() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let other = fixture.backend.open(NOW);
    let lasting = Duration::from_secs(60);
    assert!(other.leads("lists", lasting).await.unwrap());
    for _ in 0..3 {
        assert!(!fixture.store().leads("lists", lasting).await.unwrap());
        assert!(other.leads("lists", lasting).await.unwrap());
        // Longer than a sweep's lease lasts.
        fixture.backend.run("UPDATE leases SET lease_until = lease_until - 3000");
    }
    assert!(fixture.store().leads("something else", lasting).await.unwrap());
    drop(other);
    assert!(fixture.store().leads("lists", lasting).await.unwrap());
}

/// Queues this many notifications of the live client.
async fn queue(fixture: &Nodes, count: usize) {
    for _ in 0..count {
        let session = fixture.session(&fixture.live).await;
        let expired = session.expired(THEN).unwrap();
        assert_eq!(fixture.store().commit_own(expired).await.unwrap(), Committed::Yes);
    }
}

async fn endpoint(fixture: &Nodes) {
    let fresh = SigningSecret::new(&**signing_secret(&mut OsEntropy).unwrap()).unwrap();
    let (url, host) = (format!("https://{HOST}/"), HOST.to_owned());
    let wish = EndpointRequest { url, host, secret: None, fresh };
    let put = fixture.store().put_webhook_endpoint(&fixture.live, wish, THEN).await;
    assert!(put.unwrap().is_some());
}

fn lease<'a>(store: &'a Store, live: &Caller, count: usize) -> Write<'a, Vec<Leased>> {
    let wanted = Wanted { client_id: live.client_id.as_str().to_owned(), count };
    store.lease(vec![wanted], THEN, THEN.plus(60_000))
}

#[tokio::test]
async fn a_notification_is_leased_and_ended_by_the_same_node() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    endpoint(&fixture).await;
    fixture.operator().review_webhook_host(HOST, Review::Approve, THEN).unwrap();
    queue(&fixture, 20).await;
    let other = fixture.backend.open(NOW);
    let (here, there) =
        tokio::join!(lease(fixture.store(), &fixture.live, 10), lease(&other, &fixture.live, 15));
    let (here, there) = (here.unwrap(), there.unwrap());
    let ids: BTreeSet<&str> = here.iter().chain(&there).map(|leased| &*leased.id).collect();
    assert_eq!((ids.len(), here.len() + there.len()), (20, 20));
    assert_eq!(other.release_leases(THEN).await.unwrap(), 0, "their node is still running");
    for leased in &here {
        let (seq, until) = (leased.seq, leased.lease_until);
        assert!(!other.end_lease(seq, until, DeliveryResult::Delivered, THEN).await.unwrap());
        let ended = fixture.store().end_lease(seq, until, DeliveryResult::Delivered, THEN);
        assert!(ended.await.unwrap());
    }
    drop(other);
    assert_eq!(fixture.store().release_leases(THEN).await.unwrap(), there.len());
}

#[tokio::test]
async fn held_notifications_are_sent_one_at_a_time_over_all_nodes() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    endpoint(&fixture).await;
    queue(&fixture, 3).await;
    fixture.operator().review_webhook_host(HOST, Review::Approve, THEN).unwrap();
    let other = fixture.backend.open(NOW);
    let mut last = 0;
    for _ in 0..3 {
        let first = lease(fixture.store(), &fixture.live, 8).wait().unwrap();
        assert_eq!(first.len(), 1);
        assert!(lease(&other, &fixture.live, 8).wait().unwrap().is_empty());
        assert!(first[0].seq > last);
        last = first[0].seq;
        let ended = fixture.store().end_lease(
            first[0].seq,
            first[0].lease_until,
            DeliveryResult::Delivered,
            THEN,
        );
        assert!(ended.await.unwrap());
    }
}

/// An earlier version cannot read a session with this end.
#[tokio::test]
async fn sessions_of_a_revoked_client_end_once_every_node_supports_it() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.session(&fixture.live).await;
    let older = "INSERT INTO nodes (id, version, started_at, beat_at) \
                 SELECT 'older', split_part(version, ' ', 1) || ' ' || split_part(version, ' ', 2), \
                 started_at, beat_at + 86400000 FROM nodes LIMIT 1";
    fixture.backend.run(older);
    assert!(fixture.operator().revoke_client(fixture.live.client_id.as_str(), NOW).unwrap());
    let store = fixture.store();
    assert!(store.session(session.id()).await.unwrap().is_none(), "rejected immediately");
    assert!(store.sessions_of_revoked(10).await.unwrap().is_empty());
    assert!(!store.is_known_to_all(Reason::ClientRevoked).await.unwrap());
    assert!(!store.is_known_to_all(Reason::Cancelled).await.unwrap());
    // The version that introduced `client_revoked` ends such sessions, but does not know later
    // reasons.
    fixture.backend.run("UPDATE nodes SET version = version || ' 31' WHERE id = 'older'");
    assert_eq!(store.sessions_of_revoked(10).await.unwrap().len(), 1);
    assert!(store.is_known_to_all(Reason::ClientRevoked).await.unwrap());
    assert!(!store.is_known_to_all(Reason::Cancelled).await.unwrap());
    fixture.backend.run("DELETE FROM nodes WHERE id = 'older'");
    assert_eq!(store.sessions_of_revoked(10).await.unwrap().len(), 1);
    assert!(store.is_known_to_all(Reason::Cancelled).await.unwrap());
}
