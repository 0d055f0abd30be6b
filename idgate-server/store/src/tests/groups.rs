//! Changes of one client that PostgreSQL stores together.

use std::collections::BTreeSet;
use std::time::Duration;

use idgate_core::{Reader, Session, Transition};

use super::super::conformance::{
    Backend, Damage, Fixture, Held, NOW, PostgresDatabase, hold, verify,
};
use super::super::*;
use super::proxy::Proxy;
use idgate_base::clock::VirtualClock;
use idgate_testkit::patience::until;

type Nodes = Fixture<PostgresDatabase>;

/// How long a change waits behind others of its client, and how long a group may take.
const TURN: Duration = Duration::from_secs(3);
const GROUP: Duration = Duration::from_secs(11);

impl Nodes {
    /// `None`: this machine has no PostgreSQL.
    fn started() -> Option<Self> {
        PostgresDatabase::is_there().then(Self::new)
    }

    /// Locks the live client's chain until the returned value is dropped. The first change waits
    /// for it, and all later ones form one group.
    fn hold_up(&self) -> Held {
        let id = self.live.client_id.as_str();
        self.backend.hold(&format!("SELECT FROM audit_heads WHERE client_id = '{id}' FOR UPDATE"))
    }

    /// Takes another node's turn to write for the live client, until the returned value is dropped.
    fn hold_turn(&self) -> Held {
        let id = self.live.client_id.as_str();
        let hash = format!("('x' || left(encode(sha256('{id}'), 'hex'), 8))::bit(32)::integer");
        self.backend.hold(&format!("SELECT pg_advisory_xact_lock(1, {hash})"))
    }

    /// Waits until the first change waits there.
    async fn until_held(&self) {
        until("the first waits there", async || self.backend.waiting() > 0).await;
    }

    fn store_new(&self, made: &Transition) -> Write<'_, Made> {
        self.store().create_session(&self.live, made.clone())
    }

    fn some(&self, count: usize) -> Vec<Transition> {
        (0..count).map(|_| self.new_session(&self.live, NOW)).collect()
    }

    async fn some_stored(&self, count: usize) -> Vec<Session> {
        let mut sessions = Vec::new();
        for _ in 0..count {
            sessions.push(self.session(&self.live).await);
        }
        sessions
    }

    /// How many transactions wrote the rows of a table.
    fn transactions(&self, table: &str) -> usize {
        let count = format!("SELECT count(DISTINCT xmin::text) FROM {table}");
        self.backend.ask(&count).parse().unwrap()
    }

    fn entries(&self) -> u64 {
        let report = self.operator().verify_audit(Some(self.live.client_id.as_str()), &[]).unwrap();
        assert!(report.breaches.is_empty(), "{report:?}");
        report.entries
    }

    fn open_sessions(&self) -> String {
        let id = self.live.client_id.as_str();
        self.backend.ask(&format!("SELECT count FROM open_sessions WHERE client_id = '{id}'"))
    }
}

async fn all<T>(writes: Vec<Write<'_, T>>) -> Vec<Result<T, StoreError>> {
    let mut outcomes = Vec::new();
    for write in writes {
        outcomes.push(write.await);
    }
    outcomes
}

#[tokio::test]
async fn concurrent_changes_of_a_client_are_committed_together() {
    let Some(fixture) = Nodes::started() else { return };
    let new = fixture.some(40);
    let before = fixture.transactions("audit_entries");
    let held = fixture.hold_up();
    let making: Vec<_> = new.iter().map(|made| fixture.store_new(made)).collect();
    fixture.until_held().await;
    drop(held);
    assert!(all(making).await.into_iter().all(|made| made.unwrap() == Made::Yes));
    // The first change, and those that arrived while it was held up.
    assert!((1..=2).contains(&fixture.transactions("sessions")));
    assert!(fixture.transactions("audit_entries") <= before + 2);
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("40", 41));
    let held = fixture.hold_up();
    let settling: Vec<_> = new
        .iter()
        .enumerate()
        .map(|(n, made)| {
            let verified = verify(&made.session, NOW, &format!("{{\"n\":{n}}}"));
            fixture.store().commit(verified, Some(7))
        })
        .collect();
    fixture.until_held().await;
    drop(held);
    assert!(all(settling).await.into_iter().all(|done| done.unwrap() == Committed::Yes));
    assert!((1..=2).contains(&fixture.transactions("sessions")));
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("0", 81));
    for (n, made) in new.iter().enumerate() {
        let read = fixture.read(&made.session, NOW).unwrap();
        let claims = read.result(Reader::Backend, NOW).unwrap().claims_json();
        assert_eq!(claims, format!("{{\"n\":{n}}}"), "each its own");
    }
    let summary = fixture.store().metrics_summary(1, NOW).await.unwrap();
    assert_eq!(summary.outcomes.verified, 40);
}

/// A node takes its changes when its turn has come, so that even many nodes write in few
/// transactions.
#[tokio::test]
async fn changes_that_arrive_before_a_nodes_turn_are_committed_together() {
    let Some(fixture) = Nodes::started() else { return };
    let new = fixture.some(40);
    let held = fixture.hold_turn();
    let first = fixture.store_new(&new[0]);
    fixture.until_held().await;
    let making: Vec<_> = new[1..].iter().map(|made| fixture.store_new(made)).collect();
    let other = fixture.other_client();
    let theirs = fixture.new_session(&other, NOW);
    assert_eq!(fixture.store().create_session(&other, theirs).await.unwrap(), Made::Yes);
    assert_eq!(fixture.backend.ask("SELECT count(*) FROM sessions"), "1");
    drop(held);
    assert_eq!(first.await.unwrap(), Made::Yes);
    assert!(all(making).await.into_iter().all(|made| made.unwrap() == Made::Yes));
    assert_eq!(fixture.transactions("sessions"), 2, "the other client's, and one");
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("40", 41));
}

/// They do not touch the head of the client's chain, or are not of one client.
#[tokio::test]
async fn unaudited_changes_and_the_gateways_own_need_no_turn() {
    let Some(fixture) = Nodes::started() else { return };
    let sessions = fixture.some_stored(2).await;
    let _held = fixture.hold_turn();
    let verifying = hold(&sessions[0], NOW.plus(60_000));
    assert_eq!(fixture.store().commit(verifying, None).await.unwrap(), Committed::Yes);
    let expired = sessions[1].expired(sessions[1].expires_at()).unwrap();
    assert_eq!(fixture.store().commit_own(expired).await.unwrap(), Committed::Yes);
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("1", 4));
}

#[tokio::test]
async fn a_change_without_a_turn_in_time_fails_and_is_not_stored() {
    let Some(mut fixture) = Nodes::started() else { return };
    let clock = VirtualClock::at(NOW);
    fixture.close();
    let address = fixture.backend.address();
    fixture.store = Some(fixture.backend.open_waiting_by(&clock, &address));
    let new = fixture.some(3);
    let held = fixture.hold_turn();
    let first = fixture.store_new(&new[0]);
    fixture.until_held().await;
    let second = fixture.store_new(&new[1]);
    let passing = async {
        clock.until_waiting_for(TURN, 2).await;
        clock.pass(TURN).await;
        clock.pass(GROUP).await;
    };
    let (first, second, ()) = tokio::join!(first, second, passing);
    assert!(matches!(first, Err(StoreError::Unavailable(_))), "{first:?}");
    assert!(matches!(second, Err(StoreError::Busy)), "it waits behind the first: {second:?}");
    drop(held);
    assert_eq!(fixture.store_new(&new[2]).await.unwrap(), Made::Yes);
    assert_eq!(fixture.backend.ask("SELECT count(*) FROM sessions"), "1");
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("1", 2));
}

/// The database ends a wait for a lock sooner than the gateway does.
#[tokio::test]
async fn a_change_that_times_out_on_a_database_lock_is_not_stored() {
    let Some(mut fixture) = Nodes::started() else { return };
    let mut address = fixture.backend.address();
    let settings = address.config.get_options().unwrap().to_owned();
    address.config.options(format!("{settings} -c lock_timeout=100ms"));
    fixture.close();
    fixture.store = Some(fixture.backend.open_waiting_by(&VirtualClock::at(NOW), &address));
    let new = fixture.some(2);
    let held = fixture.hold_turn();
    let told = fixture.store_new(&new[0]).await;
    assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
    drop(held);
    assert_eq!(fixture.store_new(&new[1]).await.unwrap(), Made::Yes);
    assert_eq!(fixture.backend.ask("SELECT count(*) FROM sessions"), "1");
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("1", 2));
}

#[tokio::test]
async fn a_group_stores_only_as_many_sessions_as_the_quota_allows() {
    let Some(fixture) = Nodes::started() else { return };
    let change = ClientChange { max_open_sessions: Some(Some(5)), ..ClientChange::default() };
    let id = fixture.live.client_id.as_str().to_owned();
    assert!(fixture.operator().set_client(&id, &change).unwrap());
    let new = fixture.some(12);
    let held = fixture.hold_up();
    let making: Vec<_> = new.iter().map(|made| fixture.store_new(made)).collect();
    fixture.until_held().await;
    drop(held);
    let made: Vec<Made> = all(making).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().filter(|made| **made == Made::Yes).count(), 5, "{made:?}");
    assert_eq!(fixture.backend.ask("SELECT count(*) FROM sessions"), "5");
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("5", 6));
}

#[tokio::test]
async fn one_failing_change_does_not_affect_its_group() {
    let Some(fixture) = Nodes::started() else { return };
    let twice = fixture.new_session(&fixture.live, NOW);
    assert_eq!(fixture.store_new(&twice).await.unwrap(), Made::Yes);
    let new = fixture.some(4);
    let held = fixture.hold_up();
    let mut making = vec![fixture.store_new(&new[0])];
    fixture.until_held().await;
    making.extend([&new[1], &twice, &new[2], &new[3]].map(|made| fixture.store_new(made)));
    drop(held);
    let outcomes = all(making).await;
    let failed: Vec<usize> = (0..5).filter(|n| outcomes[*n].is_err()).collect();
    assert_eq!(failed, [2], "{outcomes:?}");
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("5", 6));
}

#[tokio::test]
async fn each_change_of_an_unacknowledged_group_is_looked_up() {
    let Some(mut fixture) = Nodes::started() else { return };
    let sessions = fixture.some_stored(4).await;
    let proxy = Proxy::to(&fixture.backend.socket());
    fixture.close();
    fixture.store = Some(fixture.backend.open_through(proxy.port, &VirtualClock::at(NOW)));
    let new = fixture.some(3);
    let held = fixture.hold_up();
    let settle = |session: &Session| fixture.store().commit(verify(session, NOW, "{}"), None);
    let first = settle(&sessions[0]);
    fixture.until_held().await;
    let settling: Vec<_> = sessions[1..].iter().map(settle).collect();
    let making: Vec<_> = new.iter().map(|made| fixture.store_new(made)).collect();
    proxy.lose_the_commit_after_the_next();
    drop(held);
    assert_eq!(first.await.unwrap(), Committed::Yes);
    assert!(all(settling).await.into_iter().all(|done| done.unwrap() == Committed::Yes));
    assert!(all(making).await.into_iter().all(|made| made.unwrap() == Made::Yes));
    assert!(proxy.has_lost_it());
    // Four created and settled, three more created, and the client's first key: one entry each.
    assert_eq!((&*fixture.open_sessions(), fixture.entries()), ("3", 12));
    let notified = "SELECT count(DISTINCT session_id) - count(*) FROM webhook_deliveries";
    assert_eq!(fixture.backend.ask(notified), "0");
}

#[tokio::test]
async fn an_altered_chain_stops_only_its_client() {
    let Some(fixture) = Nodes::started() else { return };
    let other = fixture.other_client();
    fixture.backend.damage(Damage::AuditHead(fixture.live.client_id.as_str()));
    let (new, theirs) = (fixture.some(3), fixture.new_session(&other, NOW));
    let making: Vec<_> = new.iter().map(|made| fixture.store_new(made)).collect();
    assert_eq!(fixture.store().create_session(&other, theirs).await.unwrap(), Made::Yes);
    for made in all(making).await {
        assert!(matches!(made, Err(StoreError::Failed(_))), "{made:?}");
    }
    assert_eq!(fixture.backend.ask("SELECT count(*) FROM sessions"), "1");
}

/// The gateway's own lane has sessions of many clients.
#[tokio::test]
async fn settlements_by_the_gateway_are_audited_in_each_clients_chain() {
    let Some(fixture) = Nodes::started() else { return };
    let other = fixture.other_client();
    let mut expiring = Vec::new();
    let mut owners = BTreeSet::new();
    for n in 0..9 {
        let owner = if n % 3 == 0 { &other } else { &fixture.live };
        let session = fixture.session(owner).await;
        owners.insert(owner.client_id.clone());
        expiring.push(session.expired(session.expires_at()).unwrap());
    }
    let own: Vec<_> = expiring.into_iter().map(|it| fixture.store().commit_own(it)).collect();
    assert!(all(own).await.into_iter().all(|done| done.unwrap() == Committed::Yes));
    assert_eq!(fixture.backend.ask("SELECT sum(count) FROM open_sessions"), "0");
    let report = fixture.operator().verify_audit(None, &[]).unwrap();
    // Created and expired sessions, the first keys of three clients, and the trusted issuer.
    assert_eq!((owners.len(), report.entries, report.breaches.len()), (2, 22, 0), "{report:?}");
}
