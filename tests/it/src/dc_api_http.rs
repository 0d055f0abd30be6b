//! Browser requests over HTTP (OpenID4VP A, decisions 27): the tenant's page passes them on, and
//! the tenant's server relays the answer.

use idgate_testkit::openid4vp::{Answer, Forgery, Request as Asked};
use serde_json::{Value, json};

use crate::http::{Request, Response};
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, Tenant, members, now_ms, request_for, sample_trust, sample_wallet,
};

const SHOP: &str = "https://shop.example";

fn installation(dc_api: &str) -> Installation {
    let installation = Installation::new().with("IDGATE_PROFILES", "1.0,draft");
    installation.with("IDGATE_DC_API", dc_api)
}

fn gateway(dc_api: &str) -> Gateway {
    Gateway::trusting(installation(dc_api), &sample_trust())
}

fn for_the_shop() -> Value {
    let mut request = request_for(&["given_name"]);
    request["dc_api"] = json!({ "origins": [SHOP] });
    request
}

/// The last request, which is unsigned, as a page on `origin` passes it on.
fn passed_on(created: &Created, origin: &str) -> (String, Asked) {
    let requests = created.answer["dc_api"]["requests"].as_array().unwrap();
    let last = requests.last().unwrap();
    let protocol = last["protocol"].as_str().unwrap();
    (protocol.to_owned(), Asked::of_browser(protocol, &last["data"], origin).unwrap())
}

fn relay(tenant: &mut Tenant, created: &Created, answer: &Value) -> Response {
    let request = Request::post(format!("/v1/sessions/{}/dc-api", created.id));
    tenant.http.send(&request.bearer(&tenant.api_key).json(answer))
}

/// The answer that the shop's page gets.
fn answered(created: &Created, forgery: Forgery) -> Value {
    let (protocol, asked) = passed_on(created, SHOP);
    sample_wallet().forge_1_0(&asked, forgery, created.made_ms).unwrap().credential(&protocol)
}

#[test]
fn what_a_page_brings_back_is_the_result() {
    for (setting, protocols) in [
        ("unsigned", &["openid4vp-v1-unsigned"][..]),
        ("signed", &["openid4vp-v1-signed", "openid4vp-v1-unsigned"]),
        (
            "multisigned",
            &["openid4vp-v1-multisigned", "openid4vp-v1-signed", "openid4vp-v1-unsigned"],
        ),
    ] {
        let gateway = gateway(setting);
        let mut tenant = gateway.tenant();
        let created = tenant.create(&for_the_shop());
        assert_eq!(tenant.read(&created.id)["status"], "PENDING");
        let requests = created.answer["dc_api"]["requests"].as_array().unwrap();
        let named: Vec<_> = requests.iter().map(|one| one["protocol"].as_str().unwrap()).collect();
        assert_eq!(named, protocols);
        let answer = answered(&created, Forgery::None);
        let session = relay(&mut tenant, &created, &answer).expect_status(200).json();
        assert_eq!(session["status"], "VERIFIED", "{setting}");
        assert_eq!(session["claims"]["pid"]["given_name"], "Erika");
        let details = &session["verification_details"];
        assert_eq!(
            (&details["request_mode"], &details["origin"]),
            (&json!("dc_api"), &json!(SHOP))
        );
        assert_eq!(tenant.read(&created.id), session);
        relay(&mut tenant, &created, &answer).expect_error(409, "session_not_pending");
    }
}

#[test]
fn another_origin_or_a_forged_answer_gets_no_claims() {
    let gateway = gateway("unsigned");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&for_the_shop());
    let (protocol, copied) = passed_on(&created, "https://shop.example.evil.example");
    let answer = sample_wallet().answer_1_0(&copied, now_ms()).unwrap().credential(&protocol);
    relay(&mut tenant, &created, &answer).expect_error(400, "invalid_presentation");
    tenant.expect_failed(&created, "audience_mismatch");
    for (forgery, reason) in [
        (Forgery::CredentialSignature, "issuer_signature_invalid"),
        (Forgery::KbSignature, "holder_binding_invalid"),
        (Forgery::Nonce, "nonce_mismatch"),
        (Forgery::SdHash, "sd_hash_mismatch"),
        (Forgery::NoProof, "holder_binding_missing"),
        (Forgery::UnknownQueryId, "submission_mismatch"),
        (Forgery::NoQueryId, "submission_mismatch"),
    ] {
        let created = tenant.create(&for_the_shop());
        let answer = answered(&created, forgery);
        relay(&mut tenant, &created, &answer).expect_error(400, "invalid_presentation");
        tenant.expect_failed(&created, reason);
    }
}

#[test]
fn what_is_not_an_answer_changes_nothing() {
    let gateway = gateway("unsigned");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&for_the_shop());
    let mut other = answered(&created, Forgery::None);
    other["protocol"] = json!("openid4vp-v1-signed");
    for bad in [json!({}), other, json!({"protocol": "openid4vp-v1-unsigned", "data": {}})] {
        relay(&mut tenant, &created, &bad).expect_error(400, "invalid_response");
    }
    let answer = answered(&created, Forgery::OtherKey);
    relay(&mut tenant, &created, &answer).expect_error(400, "decryption_failed");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    let answer = answered(&created, Forgery::None);
    relay(&mut tenant, &created, &answer).expect_status(200);
}

#[test]
fn a_page_whose_wallet_declines_ends_the_session() {
    let gateway = gateway("unsigned");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&for_the_shop());
    let (protocol, asked) = passed_on(&created, SHOP);
    let declined = Answer::error(&asked, "access_denied", false).credential(&protocol);
    let session = relay(&mut tenant, &created, &declined).expect_status(200).json();
    assert_eq!(session["status"], "FAILED");
    assert_eq!(session["wallet_error"], "access_denied");
}

#[test]
fn only_the_sessions_client_relays_answers_within_limits() {
    let limited = installation("unsigned").with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    gateway.installation.machine().freeze();
    let (mut tenant, other) = (gateway.tenant(), gateway.installation.create_client("other", true));
    let mut other = gateway.tenant_of(&other);
    let created = tenant.create(&for_the_shop());
    let answer = answered(&created, Forgery::None);
    relay(&mut other, &created, &answer).expect_error(404, "not_found");
    let path = format!("/v1/sessions/{}/dc-api", created.id);
    let without_key = tenant.http.send(&Request::post(&*path).json(&answer));
    without_key.expect_error(401, "invalid_api_key");
    let large = json!({ "protocol": "x".repeat(1024 * 1024), "data": {} });
    relay(&mut tenant, &created, &large).expect_error(413, "payload_too_large");
    tenant.http = gateway.http();
    // It counted as the first of six.
    for _ in 1..6 {
        let answer = relay(&mut tenant, &created, &json!({}));
        let expected = Some("\"dc-api\";q=100;w=4");
        assert_eq!(answer.header("ratelimit-policy"), expected);
        answer.expect_error(400, "invalid_response");
    }
    let refused = relay(&mut tenant, &created, &answer);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"response-session\";q=6;w=60"));
    refused.expect_error(429, "rate_limited");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}

#[test]
fn an_unread_answer_closes_the_connection_only_if_it_is_large() {
    let gateway = gateway("unsigned");
    let mut tenant = gateway.tenant();
    let (open, closed) = (tenant.create(&for_the_shop()), tenant.create(&for_the_shop()));
    let answer = answered(&closed, Forgery::None);
    relay(&mut tenant, &closed, &answer).expect_status(200);
    let unknown = Created { id: "ses_unknown".into(), ..closed.clone() };
    let before = tenant.http.connects();
    for _ in 0..2 {
        relay(&mut tenant, &unknown, &answer).expect_error(404, "not_found");
        relay(&mut tenant, &closed, &answer).expect_error(409, "session_not_pending");
        relay(&mut tenant, &open, &json!({})).expect_error(400, "invalid_response");
    }
    assert_eq!(tenant.http.connects(), before);
    let large = json!({ "protocol": "x".repeat(64 * 1024), "data": {} });
    for (session, status, code) in
        [(&unknown, 404, "not_found"), (&closed, 409, "session_not_pending")]
    {
        let refused = relay(&mut tenant, session, &large);
        assert_eq!(refused.header("connection"), Some("close"));
        refused.expect_error(status, code);
    }
}

#[test]
fn only_registered_origins_can_be_used() {
    let installation = installation("unsigned").with("IDGATE_ENVIRONMENT", "staging");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let mut tenant = gateway.tenant();
    let refused = tenant.post_session(&for_the_shop());
    refused.expect_error(400, "invalid_request");
    let application = format!("android:apk-key-hash:{}", "A".repeat(43));
    for origin in [SHOP, &application] {
        let arguments = ["client", "origin", "add", &gateway.client.client_id, origin];
        assert_eq!(gateway.installation.run(&arguments).code, 0, "{origin}");
    }
    let mut asked = for_the_shop();
    for own in [json!([SHOP]), json!([application]), json!([SHOP, application])] {
        asked["dc_api"]["origins"] = own;
        tenant.create(&asked);
    }
    // reason: only a name; nothing listens there
    let here = "http://localhost:3000";
    let added = ["client", "origin", "add", &gateway.client.client_id, here];
    assert_eq!(gateway.installation.run(&added).code, 0);
    for (other, rule) in [
        (json!([SHOP, "https://other.example"]), "is not an origin of this client"),
        (json!(["https://SHOP.example/"]), "must be written as browsers do"),
        (json!([SHOP, here]), "dc_api.origins[1]: must be https"),
    ] {
        asked["dc_api"]["origins"] = other;
        let refused = tenant.post_session(&asked).expect_error(400, "invalid_request");
        assert!(refused.message().contains(rule), "{}", refused.message());
    }
}

#[test]
fn origins_are_checked_when_the_answer_arrives() {
    let installation = installation("unsigned").with("IDGATE_ENVIRONMENT", "staging");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let mut tenant = gateway.tenant();
    let origin = |verb: &str, origin: &str| {
        let arguments = ["client", "origin", verb, &gateway.client.client_id, origin];
        assert_eq!(gateway.installation.run(&arguments).code, 0, "{verb} {origin}");
    };
    const OTHER: &str = "https://other.example";
    origin("add", SHOP);
    origin("add", OTHER);
    let mut both = for_the_shop();
    both["dc_api"]["origins"] = json!([SHOP, OTHER]);
    let [alone, first, second] =
        [tenant.create(&for_the_shop()), tenant.create(&both), tenant.create(&both)];
    origin("remove", SHOP);
    // The shop's page no longer has a request, and the other page has one.
    let answer = answered(&alone, Forgery::None);
    let refused = relay(&mut tenant, &alone, &answer).expect_error(400, "invalid_request");
    assert!(refused.message().contains("idgate client origin add"), "{}", refused.message());
    assert_eq!(tenant.read(&alone.id)["status"], "PENDING");
    let answer = answered(&first, Forgery::None);
    relay(&mut tenant, &first, &answer).expect_error(400, "invalid_presentation");
    tenant.expect_failed(&first, "audience_mismatch");
    let (protocol, asked) = passed_on(&second, OTHER);
    let answer = sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    relay(&mut tenant, &second, &answer).expect_status(200);
    assert_eq!(tenant.read(&second.id)["verification_details"]["origin"], OTHER);
    // Added again in time, it counts again.
    origin("add", SHOP);
    let answer = answered(&alone, Forgery::None);
    relay(&mut tenant, &alone, &answer).expect_status(200);
}

#[test]
fn without_the_setting_no_browser_request_is_offered() {
    for (variable, value) in [("IDGATE_DC_API", "off"), ("IDGATE_PROFILES", "1.0,draft")] {
        let installation = Installation::new().with("IDGATE_PROFILES", "1.0,draft");
        let gateway = Gateway::trusting(installation.with(variable, value), &sample_trust());
        let mut tenant = gateway.tenant();
        tenant.post_session(&for_the_shop()).expect_error(400, "unknown_field");
        let created = tenant.create(&request_for(&["given_name"]));
        assert!(!members(&created.answer).contains(&"dc_api"));
        relay(&mut tenant, &created, &json!({})).expect_error(404, "not_found");
    }
    let draft = Gateway::start();
    let mut tenant = draft.tenant();
    tenant.post_session(&for_the_shop()).expect_error(400, "unknown_field");
    let created = tenant.create(&request_for(&["given_name"]));
    relay(&mut tenant, &created, &json!({})).expect_error(404, "not_found");
}

#[test]
fn an_idempotent_creation_returns_the_same_browser_requests() {
    let gateway = gateway("signed");
    let tenant = &mut gateway.tenant();
    let mut once = || {
        let request = Request::post("/v1/sessions").bearer(&tenant.api_key);
        let request = request.header("Idempotency-Key", "once").json(&for_the_shop());
        tenant.http.send(&request).expect_status(201).json()
    };
    let (first, again) = (once(), once());
    assert_eq!(first, again);
    assert!(first["dc_api"]["requests"][0]["data"]["request"].is_string());
}
