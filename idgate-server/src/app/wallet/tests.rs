//! Wallets' requests by what memory has, while an operator in another process changes what is
//! stored.

use std::sync::atomic::{AtomicUsize, Ordering};

use idgate::Fetcher;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{Asked, Status};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::json;

use super::*;
use crate::app::Visit;
use crate::config::{Operator, PageRules, RequestMode};
use idgate_base::clock::VirtualClock;
use idgate_base::rate_limit::{Excess, Policy};
use idgate_store::Mood;
use idgate_store::fixtures::{ISSUER_JWK, TemporaryStore};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);

/// A gateway with an open session.
struct World {
    app: Arc<App>,
    store: TemporaryStore,
    handle: Handle,
    link: String,
    admissions: AtomicUsize,
}

impl World {
    /// The gateway trusts this key for the sample issuer.
    async fn trusting(jwk: &str, mode: RequestMode) -> Self {
        Self::with(jwk, mode, None).await
    }

    async fn with(jwk: &str, mode: RequestMode, pages: Option<PageRules>) -> Self {
        let store = TemporaryStore::default();
        store.trust_key(ISSUER, jwk);
        let (clock, fetcher) = (Arc::new(VirtualClock::at(NOW)), Fetcher::reaching(&[]));
        let url = "https://gateway.example";
        let mut app = App::new(store.shared(), clock, PROVIDER, url, fetcher);
        app.request_mode = mode;
        app.pages = pages;
        let asked = json!({ "credentials": [{
            "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"],
        }] });
        let asked = asked.to_string();
        let made = app.create_session(&store.caller(), asked.as_bytes()).await.unwrap();
        let handle = Handle::Session(made.invitation.session_id);
        let (link, admissions) = (made.invitation.qr_code_url, AtomicUsize::new(0));
        Self { app: Arc::new(app), store, handle, link, admissions }
    }

    async fn new(mode: RequestMode) -> Self {
        Self::trusting(&issuers_key(), mode).await
    }

    /// The wallet's answer to the link.
    fn answer(&self) -> Body {
        let holder = samples::holder_key(Curve::P256);
        let credential = samples::identity(&holder, NOW.0).issue(&samples::issuer_key(Curve::P256));
        let wallet = Wallet::new(holder).with(credential);
        wallet.answer_uri(&self.link, NOW.0).unwrap().form_body()
    }

    async fn post(&self, body: &Body) -> Result<WalletReply, AppError> {
        let admit = |_| -> Admission {
            self.admissions.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(()) })
        };
        self.app.respond(&self.handle, Some(&body.content_type), &body.bytes, admit).await
    }

    async fn fetch(&self) -> Result<String, AppError> {
        let visit = Visit { part: None, network: "", counts: true };
        let admit = |_| -> Admission {
            self.admissions.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(()) })
        };
        let asked = Asked::get(self.handle.as_str());
        let jwt = self.app.fetch_request(&self.handle, &asked, &visit, admit).await?;
        Ok(jwt.into_string())
    }

    fn status(&self) -> Status {
        let [session] = &*self.store.sessions() else { panic!("one session") };
        session.status_at(NOW)
    }
}

fn issuers_key() -> String {
    samples::issuer_key(Curve::P256).public_jwk().to_string()
}

fn is_closed(answer: &Result<WalletReply, AppError>) -> bool {
    matches!(answer, Err(AppError::Response(NotAnAnswer::SessionClosed)))
}

#[tokio::test]
async fn an_answer_is_decided_without_a_read() {
    let world = World::new(RequestMode::Inline).await;
    world.store.set_mood(Mood::Panicking);
    let reply = world.post(&world.answer()).await.unwrap();
    assert!(matches!(reply, WalletReply::Accepted { .. }));
    assert_eq!(world.status(), Status::Verified);
}

#[tokio::test]
async fn the_first_fetch_is_decided_without_a_read() {
    let world = World::new(RequestMode::Jar).await;
    world.store.set_mood(Mood::Panicking);
    world.fetch().await.unwrap();
    assert_eq!(world.status(), Status::Pending);
}

/// A page notes a fetch before the commit.
#[tokio::test]
#[should_panic(expected = "on purpose")]
async fn a_gateway_with_pages_reads_the_session_of_a_fetch() {
    let pages = PageRules { turning: false, operator: Operator::default() };
    let world = World::with(&issuers_key(), RequestMode::Jar, Some(pages)).await;
    world.store.set_mood(Mood::Panicking);
    let _ = world.fetch().await;
}

#[tokio::test]
async fn an_answer_is_decided_by_the_trust_that_an_operator_has_just_changed() {
    let world = World::trusting(ISSUER_JWK, RequestMode::Inline).await;
    world.store.trust_key(ISSUER, &issuers_key());
    let reply = world.post(&world.answer()).await.unwrap();
    assert!(matches!(reply, WalletReply::Accepted { .. }));
    assert_eq!(world.admissions.load(Ordering::Relaxed), 1);
    let [session] = &*world.store.sessions() else { panic!("one session") };
    // CREATED and PENDING at once, then VERIFIED: memory's verdict was not stored.
    assert_eq!(session.revision().0, 2);
}

#[tokio::test]
async fn a_fetch_after_a_key_rotation_is_admitted_once() {
    let world = World::new(RequestMode::Jar).await;
    world.store.rotate_gateway_key();
    world.fetch().await.unwrap();
    assert_eq!(world.admissions.load(Ordering::Relaxed), 1);
    assert_eq!(world.status(), Status::Pending);
}

#[tokio::test]
async fn a_revoked_client_counts_for_what_memory_has() {
    for mode in [RequestMode::Inline, RequestMode::Jar] {
        let world = World::new(mode).await;
        world.store.revoke_keys();
        let before = world.status();
        if mode == RequestMode::Jar {
            assert!(matches!(world.fetch().await, Err(AppError::NotFound)));
        } else {
            assert!(is_closed(&world.post(&world.answer()).await));
        }
        let unreadable =
            Body { content_type: "application/x-www-form-urlencoded".into(), bytes: b"%".into() };
        assert!(is_closed(&world.post(&unreadable).await), "it says no more than that");
        assert_eq!(world.status(), before);
    }
}

#[tokio::test]
async fn an_unreadable_answer_leaves_the_session_open() {
    let world = World::new(RequestMode::Inline).await;
    let unreadable =
        Body { content_type: "application/x-www-form-urlencoded".into(), bytes: b"%".into() };
    let refused = world.post(&unreadable).await;
    assert!(matches!(&refused, Err(AppError::Response(_))) && !is_closed(&refused));
    assert_eq!(world.admissions.load(Ordering::Relaxed), 0);
    assert!(world.post(&world.answer()).await.is_ok());
}

#[tokio::test]
async fn a_wallet_over_its_rate_is_told_so_while_the_session_is_open() {
    let world = World::new(RequestMode::Inline).await;
    let body = world.answer();
    let post = || {
        let excess = Excess { policy: Policy::new("test", 1, 1), wait_ms: 1 };
        let refuse =
            move |_| -> Admission { Box::pin(async move { Err(AppError::TooMany(excess)) }) };
        world.app.respond(&world.handle, Some(&body.content_type), &body.bytes, refuse)
    };
    assert!(matches!(post().await, Err(AppError::TooMany(_))));
    world.store.revoke_keys();
    assert!(is_closed(&post().await));
}
