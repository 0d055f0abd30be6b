//! Answers whose status must be fetched: real sources on loopback, virtual time.

use std::sync::Arc;
use std::time::Duration;

use idgate::loopback::Loopback;
use idgate::{Allowance, Fetcher};
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::error::NotAnAnswer;
use idgate_core::verify::WalletReply;
use idgate_core::{Reason, Session, SessionId, Status, UnixMillis};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, numeric_date};
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::json;
use tokio::task::JoinSet;

use super::*;
use crate::app::{Admission, Handle};
use idgate_base::clock::{Clock, VirtualClock};
use idgate_store::fixtures::TemporaryStore;
use idgate_store::upkeep::Upkeep;
use idgate_store::wait::Wait as _;
use idgate_testkit::patience::until;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A gateway that trusts the sample issuer, and the issuer's status source.
struct World {
    app: Arc<App>,
    fetcher: Arc<Fetcher>,
    store: TemporaryStore,
    clock: VirtualClock,
    source: Loopback,
}

/// A session and the wallet's answer to it.
struct Open {
    id: SessionId,
    body: Body,
}

impl World {
    async fn new() -> Self {
        Self::reaching(&["127.0.0.0/8"]).await
    }

    async fn reaching(ranges: &[&str]) -> Self {
        Self::with(ranges, Allowance::of_one_answer()).await
    }

    /// A world where the fetches of one answer have this allowance.
    async fn allowing(allowance: Allowance) -> Self {
        Self::with(&["127.0.0.0/8"], allowance).await
    }

    async fn with(ranges: &[&str], allowance: Allowance) -> Self {
        let store = TemporaryStore::default();
        let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
        store.trust_key(ISSUER, &jwk);
        let clock = VirtualClock::at(NOW);
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let fetcher = Fetcher::reaching(ranges);
        let (url, seen) = ("https://gateway.example", fetcher.clone());
        // The lease may end during a verification.
        let mut app = App::new(store.shared(), shared, PROVIDER, url, fetcher);
        app.verification_time = Duration::from_secs(3600);
        app.allowance = allowance;
        let source = Loopback::start().await;
        Self { app: Arc::new(app), fetcher: seen, store, clock, source }
    }

    /// Creates a session, answered with a credential at `idx` of the source's list.
    async fn open(&self, idx: u64) -> Open {
        self.open_at(idx, &self.source.url()).await
    }

    async fn open_at(&self, idx: u64, uri: &str) -> Open {
        let asked = json!({ "credentials": [{
            "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"],
        }] });
        let made = self
            .app
            .create_session(&self.store.caller(), asked.to_string().as_bytes())
            .await
            .unwrap();
        let (now, holder) = (self.clock.now().0, samples::holder_key(Curve::P256));
        let credential = samples::identity(&holder, now)
            .plain("status", status_claim(idx, uri))
            .issue(&samples::issuer_key(Curve::P256));
        let wallet = Wallet::new(holder).with(credential);
        let answer = wallet.answer_uri(&made.invitation.qr_code_url, now).unwrap();
        Open { id: made.invitation.session_id, body: answer.form_body() }
    }

    /// The source's list: index 1 is revoked, index 2 suspended.
    fn list(&self) -> StatusJwt {
        let list = StatusList::new(2, 8).with(1, 1).with(2, 2);
        StatusJwt::new(&list, &self.source.url(), numeric_date(self.clock.now().0))
    }

    fn publish(&self) {
        self.source.give(self.list().sign(&samples::issuer_key(Curve::P256)).as_bytes());
    }

    fn source_is_down(&self) {
        self.source.give_with("503 Down", "", b"");
    }

    /// Answers a new session; returns why it failed, or `None` if it was verified.
    async fn outcome(&self, idx: u64) -> Option<Reason> {
        let open = self.open(idx).await;
        self.outcome_of(&open).await
    }

    async fn outcome_of(&self, open: &Open) -> Option<Reason> {
        let reply = post(&self.app, open).await.unwrap();
        let session = self.session(open);
        let reason = session.reason_at(self.clock.now());
        assert_eq!(reason.is_none(), matches!(reply, WalletReply::Accepted { .. }));
        assert!(session.settled_at().is_some());
        reason
    }

    fn session(&self, open: &Open) -> Session {
        self.store.session(&open.id).wait().unwrap().unwrap()
    }

    fn status(&self, open: &Open) -> Status {
        self.session(open).status_at(self.clock.now())
    }

    async fn wait_for(&self, open: &Open, status: Status) {
        until(&format!("it is {status:?}"), async || self.status(open) == status).await;
    }
}

async fn post(app: &Arc<App>, open: &Open) -> Result<WalletReply, AppError> {
    let content_type = Some(&*open.body.content_type);
    let admit = |_| -> Admission { Box::pin(async { Ok(()) }) };
    app.respond(&Handle::Session(open.id.clone()), content_type, &open.body.bytes, admit).await
}

fn is_closed(answer: &Result<WalletReply, AppError>) -> bool {
    matches!(answer, Err(AppError::Response(NotAnAnswer::SessionClosed)))
}

#[tokio::test]
async fn the_status_list_decides() {
    let world = World::new().await;
    world.publish();
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.outcome(1).await, Some(Reason::CredentialRevoked));
    assert_eq!(world.outcome(2).await, Some(Reason::CredentialSuspended));
    assert!(world.source.last_head().contains("accept: application/statuslist+jwt\r\n"));
}

#[tokio::test]
async fn a_status_that_cannot_be_established_is_unknown() {
    let world = World::new().await;
    let good = world.list().sign(&samples::issuer_key(Curve::P256));
    let forged = world.list().sign(&SigningKey::from_seed(Curve::P256, "somebody else"));
    let elsewhere = "Location: http://169.254.169.254/list\r\n";
    for (status, headers, body) in [
        ("503 Down", "", good.as_bytes()),
        ("302 Found", elsewhere, b""),
        ("206 Partial Content", "", good.as_bytes()),
        ("204 No Content", "", b""),
        ("200 OK", "Content-Encoding: br\r\n", good.as_bytes()),
        ("200 OK", "Content-Encoding: gzip\r\n", good.as_bytes()),
        ("200 OK", "", forged.as_bytes()),
        ("200 OK", "", b"<html>"),
        ("200 OK", "", b""),
        ("200 OK", "", &[b'x'; 10 * 1024 * 1024 + 1]),
    ] {
        world.source.give_with(status, headers, body);
        let reason = world.outcome(0).await;
        assert_eq!(reason, Some(Reason::RevocationUnknown), "{status} {headers}");
    }
    let nobody = world.open_at(0, "http://127.0.0.1:1/list").await;
    assert_eq!(world.outcome_of(&nobody).await, Some(Reason::RevocationUnknown));
}

#[tokio::test]
async fn a_private_address_is_not_reached_unless_allowed() {
    let world = World::reaching(&[]).await;
    world.publish();
    assert_eq!(world.outcome(0).await, Some(Reason::RevocationUnknown));
    assert_eq!(world.source.connections(), 0);
}

#[tokio::test]
async fn a_slow_source_costs_five_seconds() {
    let (turns, five) = (Duration::from_secs(2), Duration::from_secs(5));
    let world = World::new().await;
    assert_eq!(world.app.allowance, Allowance::of(turns, five));
    // The same with another allowance.
    let world = World::allowing(Allowance::of(turns, Duration::from_millis(50))).await;
    world.publish();
    world.source.close_gate();
    assert_eq!(world.outcome(0).await, Some(Reason::RevocationUnknown));
}

#[tokio::test]
async fn a_fresh_list_is_not_fetched_again_and_needs_no_hold() {
    let world = World::new().await;
    world.publish();
    assert_eq!(world.outcome(0).await, None);
    let open = world.open(0).await;
    let before = world.session(&open).revision();
    assert_eq!(world.outcome_of(&open).await, None);
    assert_eq!(world.session(&open).revision().0, before.0 + 1, "one commit");
    assert_eq!(world.outcome(1).await, Some(Reason::CredentialRevoked));
    world.clock.advance(HOUR_MS - 1);
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.source.connections(), 1);
    world.clock.advance(1);
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.source.connections(), 2);
}

#[tokio::test]
async fn changed_trust_fetches_again() {
    let world = World::new().await;
    world.publish();
    assert_eq!(world.outcome(0).await, None);
    let another = samples::issuer_key(Curve::P384).public_jwk().to_string();
    world.store.trust_key("another", &another);
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.source.connections(), 2);
}

#[tokio::test]
async fn the_last_good_copy_serves_a_day_beyond_its_cache_time() {
    let world = World::new().await;
    let exp = numeric_date(NOW.0 + 10 * DAY_MS);
    let token = world.list().with("exp", json!(exp)).sign(&samples::issuer_key(Curve::P256));
    world.source.give(token.as_bytes());
    assert_eq!(world.outcome(0).await, None);
    world.source_is_down();
    world.clock.set(NOW.plus(HOUR_MS + DAY_MS - 1));
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.outcome(1).await, Some(Reason::CredentialRevoked));
    world.clock.advance(1);
    assert_eq!(world.outcome(0).await, Some(Reason::RevocationUnknown));
    assert_eq!(world.source.connections(), 4, "the source was asked first each time");
}

/// Whatever `ttl` and `exp` say.
#[tokio::test]
async fn a_source_is_fetched_at_least_once_a_day() {
    let world = World::new().await;
    let exp = numeric_date(NOW.0 + 30 * DAY_MS);
    let list = world.list().with("exp", json!(exp)).with("ttl", json!(20 * 86_400));
    world.source.give(list.sign(&samples::issuer_key(Curve::P256)).as_bytes());
    assert_eq!(world.outcome(0).await, None);
    world.clock.set(NOW.plus(DAY_MS - 1));
    assert_eq!(world.outcome(0).await, None);
    assert_eq!(world.source.connections(), 1);
    world.clock.advance(1);
    world.source_is_down();
    assert_eq!(world.outcome(0).await, None, "the last good copy");
    assert_eq!(world.source.connections(), 2);
    world.clock.advance(10 * DAY_MS);
    assert_eq!(world.outcome(1).await, Some(Reason::CredentialRevoked));
    assert_eq!(world.source.connections(), 3);
}

#[tokio::test]
async fn the_last_good_copy_never_serves_past_its_end() {
    let world = World::new().await;
    let exp = numeric_date(NOW.0 + 2 * HOUR_MS);
    let token = world.list().with("exp", json!(exp)).sign(&samples::issuer_key(Curve::P256));
    world.source.give(token.as_bytes());
    assert_eq!(world.outcome(0).await, None);
    world.source_is_down();
    world.clock.set(NOW.plus(2 * HOUR_MS - 1));
    assert_eq!(world.outcome(0).await, None);
    world.clock.advance(1);
    assert_eq!(world.outcome(0).await, Some(Reason::RevocationUnknown));
}

#[tokio::test]
async fn only_one_of_many_concurrent_answers_is_checked_and_settles() {
    let world = World::new().await;
    world.publish();
    let open = Arc::new(world.open(0).await);
    let mut posts = JoinSet::new();
    for _ in 0..16 {
        let (app, open) = (world.app.clone(), open.clone());
        posts.spawn(async move { post(&app, &open).await });
    }
    let answers = posts.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(answers.iter().filter(|answer| is_closed(answer)).count(), 15);
    assert_eq!(world.source.connections(), 1);
    assert_eq!(world.status(&open), Status::Verified);
}

#[tokio::test]
async fn concurrent_sessions_fetch_the_same_list_once() {
    let world = World::new().await;
    world.publish();
    world.source.close_gate();
    let mut posts = JoinSet::new();
    for idx in [0, 0, 0, 1] {
        let (app, open) = (world.app.clone(), world.open(idx).await);
        posts.spawn(async move { (idx, post(&app, &open).await.unwrap()) });
    }
    let all_wait = async || world.fetcher.waiting() == 4;
    until("all of them wait for a fetch", all_wait).await;
    let verifying = |session: &Session| session.status_at(NOW) == Status::Verifying;
    assert!(world.store.sessions().iter().all(verifying));
    world.source.open_gate();
    for (idx, reply) in posts.join_all().await {
        assert_eq!(idx == 0, matches!(reply, WalletReply::Accepted { .. }), "{idx}");
    }
    assert_eq!(world.source.connections(), 1);
}

#[tokio::test]
async fn a_session_deleted_while_it_is_verified_stays_deleted() {
    let world = World::new().await;
    world.publish();
    world.source.close_gate();
    let open = Arc::new(world.open(0).await);
    let answering = tokio::spawn({
        let (app, open) = (world.app.clone(), open.clone());
        async move { post(&app, &open).await }
    });
    world.wait_for(&open, Status::Verifying).await;
    world.app.delete_session(&world.store.caller(), &open.id).await.unwrap();
    world.source.open_gate();
    assert!(is_closed(&answering.await.unwrap()));
    assert!(world.store.sessions().is_empty());
}

#[tokio::test]
async fn a_verification_that_died_frees_its_session_when_the_lease_ends() {
    let world = World::new().await;
    world.publish();
    world.source.close_gate();
    let open = Arc::new(world.open(0).await);
    let dying = tokio::spawn({
        let (app, open) = (world.app.clone(), open.clone());
        async move { post(&app, &open).await }
    });
    world.wait_for(&open, Status::Verifying).await;
    dying.abort();
    assert!(dying.await.unwrap_err().is_cancelled());
    world.source.open_gate();
    assert!(is_closed(&post(&world.app, &open).await), "VERIFYING takes no other answer");
    let upkeep = Upkeep::new(world.store.shared(), Arc::new(world.clock.clone()));
    world.clock.advance(19_999);
    assert_eq!(upkeep.expire().await.unwrap(), 0);
    world.clock.advance(1);
    assert_eq!(upkeep.expire().await.unwrap(), 1);
    assert_eq!(world.status(&open), Status::Pending);
    assert_eq!(world.outcome_of(&open).await, None);
}

#[tokio::test]
async fn a_verdict_after_the_lease_is_void() {
    let world = World::new().await;
    world.publish();
    world.source.close_gate();
    let open = Arc::new(world.open(0).await);
    let late = tokio::spawn({
        let (app, open) = (world.app.clone(), open.clone());
        async move { post(&app, &open).await }
    });
    world.wait_for(&open, Status::Verifying).await;
    world.clock.advance(20_000);
    let upkeep = Upkeep::new(world.store.shared(), Arc::new(world.clock.clone()));
    assert_eq!(upkeep.expire().await.unwrap(), 1);
    world.source.open_gate();
    assert!(is_closed(&late.await.unwrap()));
    assert_eq!(world.status(&open), Status::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_for_lists_is_bounded_and_the_oldest_list_is_evicted_first() {
    let world = World::new().await;
    // Three of these fit into 64 MiB.
    let list = StatusList::new(8, 20 * 1024 * 1024);
    let uris: Vec<String> = (0..4).map(|n| format!("{}?{n}", world.source.url())).collect();
    let tokens: Vec<String> = uris
        .iter()
        .map(|uri| StatusJwt::new(&list, uri, numeric_date(NOW.0)))
        .map(|token| token.sign(&samples::issuer_key(Curve::P256)))
        .collect();
    for (at, fetches) in [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (2, 4), (0, 5)] {
        world.source.give(tokens[at].as_bytes());
        let open = world.open_at(0, &uris[at]).await;
        let reply = tokio::spawn({
            let app = world.app.clone();
            async move { post(&app, &open).await.unwrap() }
        });
        assert!(matches!(reply.await.unwrap(), WalletReply::Accepted { .. }));
        assert_eq!(world.source.connections(), fetches, "{at}");
    }
}
