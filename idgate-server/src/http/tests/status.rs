//! A wallet that does not wait while the status of its credential is fetched.

use idgate::loopback::Loopback;
use idgate_core::Status;
use idgate_testkit::keys::Curve;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::numeric_date;
use idgate_testkit::wallet::{Body, Wallet};

use super::*;

impl Edge {
    fn trust_sample_issuer(&self) {
        let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
        self.store.trust_key(ISSUER, &jwk);
    }

    /// A session, and a wallet's answer with a credential in the list at `uri`.
    async fn ask_for_listed(&self, uri: &str) -> (String, Body) {
        let headers = format!("{}Content-Type: application/json\r\n", self.store.bearer(None));
        let body = serde_json::json!({ "credentials": [{
            "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"],
        }] });
        let body = body.to_string();
        let made = self.request("POST", "/v1/sessions", &headers, body.as_bytes()).await.json();
        let holder = samples::holder_key(Curve::P256);
        let credential = samples::identity(&holder, NOW.0)
            .plain("status", status_claim(0, uri))
            .issue(&samples::issuer_key(Curve::P256));
        let wallet = Wallet::new(holder).with(credential);
        let answer = wallet.answer_uri(made["qr_code_url"].as_str().unwrap(), NOW.0).unwrap();
        (made["session_id"].as_str().unwrap().to_owned(), answer.form_body())
    }

    async fn wait_for(&self, status: Status) {
        let is_so = async || self.store.sessions()[0].status_at(NOW) == status;
        until(&format!("it is {status:?}"), is_so).await;
    }
}

/// A gateway, and a source of its issuer's status list that answers only when told to.
async fn held_up(limits: HttpLimits) -> (Edge, Loopback) {
    let edge = Edge::with(limits, &[("fetch_allow_cidrs", "127.0.0.0/8")]).await;
    edge.trust_sample_issuer();
    let source = Loopback::start().await;
    let list = StatusJwt::new(&StatusList::new(1, 8), &source.url(), numeric_date(NOW.0));
    source.give(list.sign(&samples::issuer_key(Curve::P256)).as_bytes());
    source.close_gate();
    (edge, source)
}

/// A wallet that has sent its answer.
async fn answering(edge: &Edge, id: &str, body: &Body) -> TcpStream {
    let head = format!(
        "POST /v1/oid4vp/response/{id} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\
         Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
        body.content_type,
        body.bytes.len()
    );
    let mut stream = edge.connect().await;
    stream.write_all(&[head.as_bytes(), &body.bytes].concat()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_that_hangs_up_does_not_leave_its_session_half_verified() {
    let (edge, source) = held_up(HttpLimits::default()).await;
    let (id, body) = edge.ask_for_listed(&source.url()).await;
    let stream = answering(&edge, &id, &body).await;
    edge.wait_for(Status::Verifying).await;
    drop(stream);
    // The gateway answers a later request before the source answers.
    assert_eq!(edge.get("/healthz").await.status(), 200);
    source.open_gate();
    edge.wait_for(Status::Verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_gets_the_verdict_of_its_verification_however_late() {
    // Less than the limit of a verification.
    let request_timeout = Duration::from_secs(7);
    let (edge, source) = held_up(HttpLimits { request_timeout, ..HttpLimits::default() }).await;
    let (id, body) = edge.ask_for_listed(&source.url()).await;
    let mut stream = answering(&edge, &id, &body).await;
    edge.wait_for(Status::Verifying).await;
    // The request's time is over; without the lift this would be a 503.
    edge.clock.pass(request_timeout).await;
    source.open_gate();
    assert_eq!(Answer::read(&mut stream).await.status(), 200);
    edge.wait_for(Status::Verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_that_takes_too_long_is_503_and_decides_nothing() {
    let (edge, source) = held_up(HttpLimits::default()).await;
    let (id, body) = edge.ask_for_listed(&source.url()).await;
    let mut stream = answering(&edge, &id, &body).await;
    edge.wait_for(Status::Verifying).await;
    let time = edge.gateway().limits.verification_timeout;
    edge.clock.pass(time + Duration::from_millis(1)).await;
    source.open_gate();
    let answer = Answer::read(&mut stream).await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(edge.store.sessions()[0].status_at(NOW), Status::Pending);
    // The list is cached now.
    let mut stream = answering(&edge, &id, &body).await;
    assert_eq!(Answer::read(&mut stream).await.status(), 200);
    edge.wait_for(Status::Verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_after_the_hold_releases_it() {
    let (edge, source) = held_up(HttpLimits::default()).await;
    let (id, body) = edge.ask_for_listed(&source.url()).await;
    let mut stream = answering(&edge, &id, &body).await;
    edge.wait_for(Status::Verifying).await;
    edge.store.set_mood(Mood::Startled);
    source.open_gate();
    Answer::read(&mut stream).await.assert_error(500, "internal_error");
    assert_eq!(edge.store.sessions()[0].status_at(NOW), Status::Pending);
    let mut stream = answering(&edge, &id, &body).await;
    assert_eq!(Answer::read(&mut stream).await.status(), 200);
    edge.wait_for(Status::Verified).await;
}
