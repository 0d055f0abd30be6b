//! Two ends of a session with the real program: the wallet's error, and expiry.

use std::time::Duration;

use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::Body;
use serde_json::json;

use crate::disk;
use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Gateway, form, request_for, sample_wallet, timestamp};
use crate::ws::Stream;

/// OpenID4VP 8.5, and further codes that wallets in use send.
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
fn a_session_has_the_wallets_error_code_but_not_its_text() {
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
fn an_expired_session_is_expired_on_every_route() {
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
