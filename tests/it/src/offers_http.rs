//! OpenID4VP 1.0 over HTTP with the settings that enable it, and its absence without them.

use idgate_testkit::openid4vp::{Answer, Expected, Format, Keys, Prefix, Request as Asked};
use serde_json::{Value, json};

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, answer_request, members, now_ms, request_for, sample_trust, sample_wallet,
};

fn gateway(profiles: &str) -> Gateway {
    gateway_on(Installation::new(), profiles)
}

fn gateway_on(installation: Installation, profiles: &str) -> Gateway {
    Gateway::trusting(installation.with("IDGATE_PROFILES", profiles), &sample_trust())
}

/// A request by value as the wallet reads it. The wallet notices that the tests have no TLS, which
/// does not matter here.
pub(crate) fn read(created: &Created) -> Asked {
    let expected = Expected {
        prefix: Prefix::RedirectUri,
        encrypted: false,
        formats: vec![Format::SdJwtVc],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: None,
        now_ms: created.made_ms,
    };
    Asked::read(&created.uri, None, &expected, &mut Keys::default()).0
}

#[test]
fn a_1_0_session_is_fetched_answered_and_read() {
    let gateway = gateway("1.0,draft");
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["redirect_uri"] = json!("https://shop.example/done");
    let created = tenant.create(&request);
    assert_eq!(created.answer["profile"], "1.0");
    let asked = read(&created);
    assert_eq!(asked.query.credentials.len(), 1);
    let answer = sample_wallet().answer_1_0(&asked, now_ms()).unwrap();
    let reply = tenant.post_answer(&created.id, &answer.body()).expect_status(200).json();
    assert_eq!(members(&reply), ["redirect_uri"]);
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED");
    let details = &session["verification_details"];
    assert_eq!((&details["profile"], &details["request_mode"]), (&json!("1.0"), &json!("inline")));
    let code = details["response_code"].as_str().unwrap();
    let uri = format!("https://shop.example/done?response_code={code}");
    assert_eq!(reply["redirect_uri"], Value::from(uri));
    tenant.post_answer(&created.id, &answer.body()).expect_error(409, "session_not_pending");
}

#[test]
fn a_declining_1_0_wallet_is_redirected() {
    let gateway = gateway("1.0");
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["redirect_uri"] = json!("https://shop.example/done");
    let created = tenant.create(&request);
    let body = Answer::error(&read(&created), "access_denied", false).body();
    let reply = tenant.post_answer(&created.id, &body).expect_status(200).json();
    let uri = reply["redirect_uri"].as_str().unwrap();
    assert!(uri.starts_with("https://shop.example/done?response_code="), "{uri}");
    assert_eq!(members(&reply), ["redirect_uri"]);
    let session = tenant.read(&created.id);
    assert_eq!(
        (&session["status"], &session["reason"]),
        (&json!("FAILED"), &json!("wallet_error"))
    );
    assert_eq!(session["wallet_error"], "access_denied");
}

#[test]
fn an_offer_id_that_was_never_issued_is_unknown() {
    let gateway = gateway("1.0");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let answer = sample_wallet().answer_1_0(&read(&created), now_ms()).unwrap();
    let unknown = created.id.replace("ses_", "off_");
    let posted = tenant.http.send(&answer_request(&unknown, &answer.body()));
    posted.expect_error(409, "session_not_pending");
    let fetched = tenant.http.send(&Request::get(format!("/v1/oid4vp/request/{unknown}")));
    fetched.expect_error(404, "not_found");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}

#[test]
fn a_profile_that_needs_a_certificate_is_refused_without_one() {
    let gateway = gateway("haip");
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["redirect_uri"] = json!("https://shop.example/done");
    tenant.post_session(&request).expect_error(400, "unsupported_profile");
}

#[test]
fn one_session_serves_old_and_new_wallets_and_one_answer_settles_it() {
    let gateway = gateway("1.0,draft");
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["profiles"] = json!(["1.0", "draft"]);
    for answers_draft in [true, false] {
        let created = tenant.create(&request);
        let newer = sample_wallet().answer_1_0(&read(&created), now_ms()).unwrap();
        let link = created.answer["deep_links"]["openid4vp"].as_str().unwrap();
        let older = sample_wallet().answer_uri(link, now_ms()).unwrap();
        let offer = older.response_uri.rsplit('/').next().unwrap().to_owned();
        assert!(offer.starts_with("off_") && link != created.uri, "{offer}");
        let (first, second) = match answers_draft {
            true => ((&offer, older.form_body()), (&created.id, newer.body())),
            false => ((&created.id, newer.body()), (&offer, older.form_body())),
        };
        let reply = tenant.http.send(&answer_request(first.0, &first.1)).expect_status(200).json();
        let expected = if answers_draft { json!({"status": "ok"}) } else { json!({}) };
        assert_eq!(reply, expected);
        let late = tenant.http.send(&answer_request(second.0, &second.1));
        late.expect_error(409, "session_not_pending");
        let session = tenant.read(&created.id);
        assert_eq!(session["status"], "VERIFIED");
        let profile = if answers_draft { "draft" } else { "1.0" };
        assert_eq!(session["verification_details"]["profile"], profile);
    }
}

#[test]
fn answers_to_all_requests_of_a_session_share_one_limit() {
    let limited = Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = gateway_on(limited, "1.0,draft");
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["profiles"] = json!(["1.0", "draft"]);
    let created = tenant.create(&request);
    let link = created.answer["deep_links"]["openid4vp"].as_str().unwrap();
    let older = sample_wallet().answer_uri(link, created.made_ms).unwrap();
    let offer = older.response_uri.rsplit('/').next().unwrap();
    let nonsense = Answer::error(&read(&created), "access_denied", false);
    let mut body = nonsense.body();
    body.content_type = "text/plain".into();
    for n in 0..6 {
        let handle = if n % 2 == 0 { offer } else { &created.id };
        let refused = tenant.http.send(&answer_request(handle, &body));
        assert_ne!(refused.status, 429, "{n}: {refused:?}");
    }
    for handle in [offer, &created.id] {
        let limited = tenant.http.send(&answer_request(handle, &body));
        let policy = limited.header("ratelimit-policy");
        assert_eq!(policy, Some("\"response-session\";q=6;w=60"), "{handle}");
        limited.expect_error(429, "rate_limited");
    }
    // Another session has its own.
    let other = tenant.create(&request);
    let answer = sample_wallet().answer_1_0(&read(&other), other.made_ms).unwrap();
    tenant.post_answer(&other.id, &answer.body()).expect_status(200);
}
