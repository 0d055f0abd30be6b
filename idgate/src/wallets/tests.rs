//! The routes, used by wallets of OpenID4VP 1.0 and by strangers.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Mutex;

use idgate_core::crypto::{SoftwareSigner, aws_lc_rs::PROVIDER};
use idgate_core::{
    Credential, Issuer, NewSession, Profile, Reader, Revision, Status, Transition, Trust,
};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vp::{Expected, Fetched, Format, Keys, Prefix, Request as Asks};
use idgate_testkit::samples::{self, ISSUER, VCT};
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use super::*;
use crate::options::FetchOptions;

const ORIGIN: &str = "https://shop.example";

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

/// A store of sessions by handle. A test can make it fail, or lose the next races.
#[derive(Default)]
struct Memory {
    sessions: Mutex<HashMap<String, Session>>,
    is_down: Mutex<bool>,
    races_to_lose: Mutex<usize>,
}

impl Store for Memory {
    type Error = Down;

    fn load(&self, handle: &str) -> impl Future<Output = Result<Option<Session>, Down>> + Send {
        ready(match *self.is_down.lock().unwrap() {
            true => Err(Down),
            false => Ok(self.sessions.lock().unwrap().get(handle).cloned()),
        })
    }

    fn commit(&self, t: &Transition) -> impl Future<Output = Result<Committed, Down>> + Send {
        let mut races = self.races_to_lose.lock().unwrap();
        if *races > 0 {
            *races -= 1;
            return ready(Ok(Committed::LostRace));
        }
        let (mut all, session) = (self.sessions.lock().unwrap(), &t.session);
        let stored = all.get(session.id().as_str()).map_or(Revision(0), Session::revision);
        if stored != t.from {
            return ready(Ok(Committed::LostRace));
        }
        all.extend(session.handles().map(|handle| (handle.to_owned(), session.clone())));
        ready(Ok(Committed::Stored))
    }
}

fn verifier(signed: bool) -> Verifier {
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let trust = Trust::new(PROVIDER, [Issuer::new(ISSUER).vct(VCT).jwk(jwk)]).unwrap();
    let builder = Verifier::builder(trust).profiles([Profile::V1_0]);
    let pem = SigningKey::from_seed(Curve::P256, "shop").private_pem();
    match signed {
        false => builder.unsigned(ORIGIN).build().unwrap(),
        true => {
            let signer =
                SoftwareSigner::from_pem(pem.as_bytes()).unwrap().under_did(ORIGIN).unwrap();
            builder.signed(ORIGIN, signer).build().unwrap()
        }
    }
}

fn wallets(signed: bool) -> Wallets<Memory> {
    let fetcher = Fetcher::new(FetchOptions::default()).unwrap();
    Wallets::new(verifier(signed), fetcher, Memory::default())
}

/// A new session: its id and its link.
async fn create(wallets: &Wallets<Memory>) -> (String, String) {
    let card = Credential::sd_jwt_vc("pid", ISSUER).claims(["given_name"]);
    let asked = idgate_core::Request::of([card]);
    let new = NewSession::live();
    let made =
        wallets.verifier().create_session(&asked, new, &mut OsEntropy, clock::now()).unwrap();
    assert_eq!(wallets.store().commit(&made).await.unwrap(), Committed::Stored);
    let info = made.session.info(clock::now());
    (info.id, info.qr_code_url.unwrap())
}

fn expected(document: Option<Value>) -> Expected {
    let signed = document.is_some();
    Expected {
        prefix: if signed { Prefix::DecentralizedIdentifier } else { Prefix::RedirectUri },
        encrypted: signed,
        formats: vec![Format::SdJwtVc],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: document,
        now_ms: clock::now().0,
    }
}

/// The answer of a wallet to the request in `link`.
fn answered(link: &str, fetched: Option<&Fetched>, document: Option<Value>) -> Body {
    let now = clock::now().0;
    let read = Asks::read(link, fetched, &expected(document), &mut Keys::default());
    assert!(read.1.is_empty(), "{:?}", read.1);
    let sample = samples::issue_sample(now);
    let wallet = Wallet::new(sample.holder_key).with(sample.credential);
    wallet.answer_1_0(&read.0, now).unwrap().body()
}

async fn send(
    wallets: &Wallets<Memory>,
    method: &str,
    path: &str,
    body: Option<&Body>,
) -> Response<Bytes> {
    let mut request = Request::builder().method(method).uri(format!("{ORIGIN}{path}"));
    if let Some(body) = body {
        request = request.header(CONTENT_TYPE, &body.content_type);
    }
    let bytes = body.map(|body| Bytes::from(body.bytes.clone())).unwrap_or_default();
    wallets.handle(request.body(bytes).unwrap()).await
}

fn error_of(response: &Response<Bytes>) -> (u16, String) {
    let body: Value = serde_json::from_slice(response.body()).unwrap();
    (response.status().as_u16(), body["error"].as_str().unwrap_or_default().to_owned())
}

async fn session(wallets: &Wallets<Memory>, id: &str) -> Session {
    wallets.store().load(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_answer_is_decided_stored_and_replied_to_once() {
    let wallets = wallets(false);
    let (id, link) = create(&wallets).await;
    let path = format!("/v1/oid4vp/response/{id}");
    let body = answered(&link, None, None);
    let reply = send(&wallets, "POST", &path, Some(&body)).await;
    assert_eq!((reply.status().as_u16(), &reply.body()[..]), (200, &b"{}"[..]));
    assert_eq!(reply.headers()["cache-control"], "no-store");
    let settled = session(&wallets, &id).await;
    let result = settled.result(Reader::Backend, clock::now()).unwrap();
    assert_eq!(result.credential::<Value>("pid").unwrap(), json!({ "given_name": "Erika" }));

    let again = send(&wallets, "POST", &path, Some(&body)).await;
    assert_eq!(error_of(&again), (409, "session_not_pending".into()));
}

#[tokio::test]
async fn a_forged_answer_is_refused_without_a_reason() {
    let wallets = wallets(false);
    let (id, link) = create(&wallets).await;
    let (_, other) = create(&wallets).await;
    // The proof of the holder is for another session.
    let mut body = answered(&other, None, None);
    let state =
        |link: &str| link.split_once("&state=").unwrap().1.split('&').next().unwrap().to_owned();
    let text = String::from_utf8(body.bytes).unwrap().replace(&state(&other), &state(&link));
    body.bytes = text.into_bytes();
    let reply = send(&wallets, "POST", &format!("/v1/oid4vp/response/{id}"), Some(&body)).await;
    assert_eq!(error_of(&reply), (400, "invalid_presentation".into()));
    assert_eq!(session(&wallets, &id).await.info(clock::now()).status, Status::Failed);
}

#[tokio::test]
async fn a_signed_request_is_fetched_by_get_and_by_post_and_verified_by_the_did_document() {
    let wallets = wallets(true);
    let document = send(&wallets, "GET", "/.well-known/did.json", None).await;
    let document: Value = serde_json::from_slice(document.body()).unwrap();
    let keys = send(&wallets, "GET", "/.well-known/jwks.json", None).await;
    assert_eq!(keys.headers()["access-control-allow-origin"], "*");
    let keys: Value = serde_json::from_slice(keys.body()).unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 1);

    let (id, link) = create(&wallets).await;
    let path = format!("/v1/oid4vp/request/{id}");
    let form = idgate_testkit::openid4vp::Link::fetch_form(idgate_testkit::openid4vp::WALLET_NONCE);
    for body in [None, Some(&form)] {
        let method = if body.is_some() { "POST" } else { "GET" };
        let reply = send(&wallets, method, &path, body).await;
        assert_eq!(reply.status(), 200);
        let content_type = reply.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        let jwt = String::from_utf8(reply.body().to_vec()).unwrap();
        let fetched = Fetched::new(jwt, content_type, body.is_some());
        let answer = answered(&link, Some(&fetched), Some(document.clone()));
        assert_eq!(session(&wallets, &id).await.info(clock::now()).status, Status::Pending);
        if body.is_some() {
            let path = format!("/v1/oid4vp/response/{id}");
            assert_eq!(send(&wallets, "POST", &path, Some(&answer)).await.status(), 200);
        }
    }
    assert_eq!(session(&wallets, &id).await.info(clock::now()).status, Status::Verified);
    assert_eq!(error_of(&send(&wallets, "GET", &path, None).await), (404, "not_found".into()));
}

#[tokio::test]
async fn a_fetch_that_loses_a_race_is_retried_three_times() {
    let wallets = wallets(true);
    for (races, status) in [(2, 200), (3, 503)] {
        let (id, _) = create(&wallets).await;
        *wallets.store().races_to_lose.lock().unwrap() = races;
        let reply = send(&wallets, "GET", &format!("/v1/oid4vp/request/{id}"), None).await;
        assert_eq!(reply.status().as_u16(), status);
        assert_eq!(reply.headers().contains_key("retry-after"), status == 503);
    }
}

#[tokio::test]
async fn strangers_receive_only_the_error_code() {
    let wallets = wallets(false);
    let (id, _) = create(&wallets).await;
    let (request, response) = (format!("{REQUESTS}{id}"), format!("{RESPONSES}{id}"));
    for (method, path, status, code) in [
        ("GET", "/", 404, "not_found"),
        ("GET", "/v1/oid4vp", 404, "not_found"),
        ("GET", "/.well-known/did.json", 404, "not_found"), // no key signs under the DID
        ("PUT", "/.well-known/jwks.json", 405, "method_not_allowed"),
        ("GET", &*response, 405, "method_not_allowed"),
        ("HEAD", &*request, 405, "method_not_allowed"),
        ("GET", &*request, 404, "not_found"), // it goes by value
        ("POST", &*request, 400, "invalid_request"),
        ("POST", &*response, 400, "invalid_response"),
        ("POST", "/v1/oid4vp/response/ses_0", 409, "session_not_pending"),
        ("POST", "/v1/oid4vp/response/", 404, "not_found"),
        ("POST", "/v1/oid4vp/response/a/b", 404, "not_found"),
        ("POST", "/v1/oid4vp/response/%2e%2e", 404, "not_found"),
        ("GET", "/v1/oid4vp/request/..", 404, "not_found"),
        ("GET", "/v1/oid4vp/request/ses_0", 404, "not_found"),
    ] {
        let reply = send(&wallets, method, path, None).await;
        assert_eq!(error_of(&reply), (status, code.to_owned()), "{method} {path}");
        assert_eq!(reply.headers().contains_key(ALLOW), status == 405, "{method} {path}");
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_413() {
    let wallets = wallets(false);
    let (id, _) = create(&wallets).await;
    let bytes = vec![b'a'; idgate_core::limits::MAX_RESPONSE_BYTES + 1];
    let content_type = "application/x-www-form-urlencoded".to_owned();
    let body = Body { content_type, bytes };
    let reply = send(&wallets, "POST", &format!("{RESPONSES}{id}"), Some(&body)).await;
    assert_eq!(error_of(&reply), (413, "payload_too_large".into()));
}

#[tokio::test]
async fn a_store_that_is_down_is_503_with_retry_after() {
    let wallets = wallets(false);
    let (id, link) = create(&wallets).await;
    let body = answered(&link, None, None);
    *wallets.store().is_down.lock().unwrap() = true;
    let path = format!("{RESPONSES}{id}");
    let reply = send(&wallets, "POST", &path, Some(&body)).await;
    assert_eq!(error_of(&reply), (503, "temporarily_unavailable".into()));
    assert_eq!(reply.headers()["retry-after"], "1");
    *wallets.store().is_down.lock().unwrap() = false;
    assert_eq!(send(&wallets, "POST", &path, Some(&body)).await.status(), 200);
}

#[tokio::test]
async fn a_replaced_verifier_takes_the_next_answer() {
    let wallets = wallets(false);
    let (id, link) = create(&wallets).await;
    let nobody = Trust::new(PROVIDER, []).unwrap();
    let builder = Verifier::builder(nobody).profiles([Profile::V1_0]).unsigned(ORIGIN);
    wallets.set_verifier(builder.build().unwrap());
    let body = answered(&link, None, None);
    let reply = send(&wallets, "POST", &format!("{RESPONSES}{id}"), Some(&body)).await;
    assert_eq!(error_of(&reply), (400, "invalid_presentation".into()));
}

#[tokio::test]
async fn an_answer_of_a_browser_needs_a_session_that_asked_one() {
    let wallets = wallets(false);
    let (id, _) = create(&wallets).await;
    let body = r#"{"protocol":"openid4vp-v1-unsigned","data":{"response":"x"}}"#;
    assert_eq!(wallets.dc_api(&id, Bytes::from_static(body.as_bytes())).await.status, 400);
    assert_eq!(wallets.dc_api("ses_0", Bytes::from_static(body.as_bytes())).await.status, 409);
}
