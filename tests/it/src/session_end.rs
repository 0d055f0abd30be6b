//! What ends a session, and what an ended one answers: refusal, the wallet's error, replay,
//! deletion, expiry.

use std::time::Duration;

use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::{Answer, Body};
use serde_json::{Map, json};

use crate::disk;
use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Gateway, form, now_ms, request_for, sample_wallet, timestamp};
use crate::ws::Stream;

#[test]
fn a_wallet_that_reports_an_error_ends_the_session() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for encode in [Body::form, Body::json] {
        let created = tenant.create(&request_for(&["given_name"]));
        let state = AuthorizationRequest::parse(&created.uri).unwrap().state;
        let mut error = Map::new();
        error.insert("error".into(), "access_denied".into());
        error.insert("error_description".into(), "no".into());
        tenant.post_answer(&created.id, &encode(&error)).expect_error(400, "invalid_response");
        error.insert("state".into(), state.into());
        let reply = tenant.post_answer(&created.id, &encode(&error)).expect_status(200);
        assert_eq!(reply.json(), json!({ "status": "ok" }));
        tenant.expect_failed(&created, "wallet_error");
    }
}

/// OpenID4VP 8.5, and what wallets in use send beside it.
const WALLET_ERRORS: [&str; 12] = [
    "access_denied",
    "invalid_request",
    "invalid_client",
    "vp_formats_not_supported",
    "invalid_request_uri_method",
    "invalid_transaction_data",
    "wallet_unavailable",
    "invalid_scope",
    "invalid_request_uri",
    "invalid_request_object",
    "request_uri_not_supported",
    "processing_error",
];
const WORDS: &str = "Sentinel-words-of-the-wallet-P3";

#[test]
fn a_session_says_what_the_wallet_said_and_keeps_none_of_its_words() {
    let installation = Installation::new().with("IDGATE_RATE_LIMITS", "off");
    let gateway = Gateway::start_on(installation);
    let mut tenant = gateway.tenant();
    let known = WALLET_ERRORS.map(|name| (name, name));
    let foreign = ["ACCESS_DENIED", "access_denied ", "user_cancelled", "other", WORDS, "{}"];
    for (said, told) in known.into_iter().chain(foreign.map(|said| (said, "other"))) {
        for encode in [Body::form, Body::json] {
            let created = tenant.create(&request_for(&["given_name"]));
            let state = AuthorizationRequest::parse(&created.uri).unwrap().state;
            let error = json!({ "error": said, "error_description": WORDS, "state": state });
            let error = error.as_object().unwrap().clone();
            tenant.post_answer(&created.id, &encode(&error)).expect_status(200);
            tenant.expect_failed(&created, "wallet_error");
            assert_eq!(tenant.read(&created.id)["wallet_error"], told, "{said}");
            let (address, key) = (gateway.server.address, &gateway.client.api_key);
            let mut stream = Stream::open_after(address, &created.id, key, 2);
            let message = stream.message();
            assert_eq!(
                (&message["reason"], &message["wallet_error"]),
                (&json!("wallet_error"), &json!(told))
            );
        }
    }
    let needles = [WORDS.as_bytes().to_vec()];
    assert!(disk::files_with(&gateway.installation.data_dir(), &needles).is_empty());
}

#[test]
fn an_answer_counts_once() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let body = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &body).expect_status(200);
    let before = tenant.read(&created.id);
    tenant.post_answer(&created.id, &body).expect_error(409, "session_not_pending");
    let again = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &again).expect_error(409, "session_not_pending");
    assert_eq!(tenant.read(&created.id), before);
    tenant
        .post_answer("ses_0000000000000000000000", &body)
        .expect_error(409, "session_not_pending");
}

#[test]
fn a_refused_session_stays_refused() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let stale = sample_wallet().answer_uri(&created.uri, now_ms() - 3_600_000).unwrap();
    let reply = tenant.post_answer(&created.id, &stale.form_body());
    reply.expect_error(400, "invalid_presentation");
    tenant.expect_failed(&created, "kb_jwt_stale");
    let good = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &good).expect_error(409, "session_not_pending");
    tenant.expect_failed(&created, "kb_jwt_stale");
}

#[test]
fn an_answer_to_one_session_is_no_answer_to_another() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let [a, b] = [(); 2].map(|()| tenant.create(&request_for(&["given_name"])));
    let for_a = sample_wallet().answer_uri(&a.uri, now_ms()).unwrap();
    let mixed_up = tenant.post_answer(&b.id, &for_a.form_body());
    mixed_up.expect_error(400, "state_mismatch");
    for created in [&a, &b] {
        assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    }
    // With the other session's state the proof is still for this one.
    let request_b = AuthorizationRequest::parse(&b.uri).unwrap();
    let mut forged = Answer::new(&request_b, for_a.presentations.clone());
    forged.state = request_b.state;
    let reply = tenant.post_answer(&b.id, &forged.form_body());
    reply.expect_error(400, "invalid_presentation");
    let reason = tenant.read(&b.id)["reason"].clone();
    assert!(reason == "audience_mismatch" || reason == "nonce_mismatch", "{reason}");
    assert_eq!(tenant.read(&a.id)["status"], "PENDING");
    tenant.post_answer(&a.id, &for_a.form_body()).expect_status(200);
}

#[test]
fn a_deleted_session_is_gone_in_every_state() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let request = request_for(&["given_name"]);
    let pending = tenant.create(&request);
    let verified = tenant.verified(&request, &sample_wallet());
    let failed = tenant.create(&request);
    let stale = sample_wallet().answer_uri(&failed.uri, now_ms() - 3_600_000).unwrap();
    tenant.post_answer(&failed.id, &stale.form_body()).expect_status(400);
    for created in [pending, verified, failed] {
        let deleted = tenant.delete(&created.id).expect_status(204);
        assert!(deleted.body.is_empty());
        tenant.get(&created.id).expect_error(404, "not_found");
        tenant.delete(&created.id).expect_error(404, "not_found");
        let body = form(&sample_wallet(), &created);
        tenant.post_answer(&created.id, &body).expect_error(409, "session_not_pending");
        let open = Request::get(format!("/v1/sessions/{}/open", created.id));
        tenant.http.send(&open).expect_error(404, "not_found");
        tenant.get(&created.id).expect_error(404, "not_found");
    }
}

#[test]
fn an_expired_session_is_expired_for_everybody() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["ttl_ms"] = 60_000.into();
    let begun = machine.now_ms();
    let created = tenant.create(&request);
    let expires_at = timestamp(&created.answer["expires_at"]);
    assert_eq!(expires_at - begun, 60_000);
    machine.jump(Duration::from_millis(59_999));
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    machine.jump(Duration::from_millis(1));
    let session = tenant.read(&created.id);
    assert_eq!(
        (&session["status"], &session["reason"]),
        (&json!("EXPIRED"), &json!("session_expired"))
    );
    let body = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &body).expect_error(409, "session_not_pending");
    let open = Request::get(format!("/v1/sessions/{}/open", created.id));
    tenant.http.send(&open).expect_error(404, "not_found");
}
