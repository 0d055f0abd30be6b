//! Fetching the Request Object: when it exists, its contents, and the change that a fetch causes.

use std::sync::Barrier;
use std::thread;

use idgate_testkit::request_object::JarLink;
use idgate_testkit::wallet::JarAnswer;
use serde_json::{Value, json};

use super::{Desk, request_path, text};
use crate::disk;
use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Created, Gateway, request_for, timestamp};

#[test]
fn the_link_has_two_parameters_and_the_session_waits_for_a_wallet() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let link = JarLink::parse(&created.uri).unwrap();
    let base_url = desk.gateway.server.base_url.clone();
    let host = base_url.strip_prefix("http://").unwrap().replace(':', "%3A");
    assert_eq!(link.client_id, format!("did:web:{host}"));
    assert_eq!(link.request_uri, format!("{base_url}{}", request_path(&created)));
    // The DID's own escape is escaped again.
    assert!(created.uri.contains("client_id=did%3Aweb%3A127.0.0.1%253A"), "{}", created.uri);
    let query = created.uri.strip_prefix("openid4vp://").unwrap();
    for (key, scheme) in
        [("openid4vp", "openid4vp"), ("eudi-wallet", "eudi-openid4vp"), ("haip", "haip-vp")]
    {
        assert_eq!(created.answer["deep_links"][key], format!("{scheme}://{query}"));
    }
    assert_eq!(desk.status(&created), "CREATED");
}

#[test]
fn the_request_object_has_the_decided_members() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let jar = desk.fetch(&created);
    let kid = jar.header["kid"].as_str().unwrap().to_owned();
    assert_eq!(jar.header, json!({"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": kid}));
    let claims = jar.claims;
    let names: Vec<&String> = claims.as_object().unwrap().keys().collect();
    let expected = [
        "aud",
        "client_id",
        "client_metadata",
        "exp",
        "iat",
        "nonce",
        "presentation_definition",
        "response_mode",
        "response_type",
        "response_uri",
        "state",
    ];
    assert_eq!(names, expected);
    assert_eq!(claims["exp"], timestamp(&created.answer["expires_at"]) / 1000);
    let metadata = &claims["client_metadata"];
    assert_eq!(metadata["authorization_encrypted_response_alg"], "ECDH-ES");
    assert_eq!(metadata["authorization_encrypted_response_enc"], "A256GCM");
    let offered = json!(["A128GCM", "A256GCM", "A128CBC-HS256"]);
    assert_eq!(metadata["encrypted_response_enc_values_supported"], offered);
    assert!(metadata["vp_formats"].is_object() && metadata["jwks"]["keys"][0].get("d").is_none());
}

#[test]
fn a_fetch_makes_the_session_pending_and_may_be_repeated() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let head = desk.tenant.http.send(&Request::new("HEAD", request_path(&created)));
    assert_eq!((head.status, head.header("content-type")), (200, Some(MEDIA_TYPE)));
    assert_eq!(desk.status(&created), "CREATED", "HEAD changes nothing");
    let answer = desk.get(&created).expect_status(200);
    assert_eq!(answer.header("content-type"), Some(MEDIA_TYPE));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(desk.status(&created), "PENDING");
    let first = desk.verify(&created, &text(&answer));
    let again = desk.fetch(&created);
    assert_eq!(desk.status(&created), "PENDING");
    assert_eq!(secrets(&first.claims), secrets(&again.claims));
    let other = desk.create();
    let other = desk.fetch(&other);
    for (one, two) in secrets(&first.claims).iter().zip(secrets(&other.claims)) {
        assert_ne!(*one, two, "fresh in each session");
    }
}

const MEDIA_TYPE: &str = "application/oauth-authz-req+jwt";

/// Nonce, state and key.
fn secrets(claims: &Value) -> [Value; 3] {
    let keys = claims["client_metadata"]["jwks"]["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 1);
    [claims["nonce"].clone(), claims["state"].clone(), keys[0].clone()]
}

#[test]
fn concurrent_fetches_get_the_same_request() {
    let mut desk = Desk::jar();
    for _ in 0..20 {
        let created = desk.create();
        let start = Barrier::new(8);
        let jwts: Vec<String> = thread::scope(|scope| {
            let fetch = || {
                let mut http = desk.gateway.http();
                let request = Request::get(request_path(&created));
                start.wait();
                text(&http.send(&request).expect_status(200))
            };
            let fetching: Vec<_> = (0..8).map(|_| scope.spawn(fetch)).collect();
            fetching.into_iter().map(|fetching| fetching.join().unwrap()).collect()
        });
        let first = desk.verify(&created, &jwts[0]);
        for jwt in &jwts[1..] {
            assert_eq!(secrets(&desk.verify(&created, jwt).claims), secrets(&first.claims));
        }
        assert_eq!(desk.status(&created), "PENDING");
    }
    let events = disk::events_with(&desk.gateway.installation.data_dir(), "PENDING");
    assert_eq!(events, 20, "a session became PENDING more than once");
}

#[test]
fn the_wallet_nonce_is_in_the_request_object() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let post = |body: &str| form_post(&created, body);
    let longest = "n".repeat(256);
    for (body, nonce) in [
        ("", Value::Null),
        ("wallet_nonce=", Value::Null),
        ("wallet_metadata=%7B%7D&wallet_nonce=a%2Bb&unknown=1", json!("a+b")),
        (&*format!("wallet_nonce={longest}"), json!(longest)),
        (&*format!("wallet_nonce={}", "%C3%A9".repeat(256)), json!("é".repeat(256))),
    ] {
        let answer = desk.tenant.http.send(&post(body)).expect_status(200);
        assert_eq!(answer.header("content-type"), Some(MEDIA_TYPE));
        let claims = desk.verify(&created, &text(&answer)).claims;
        assert_eq!(claims.get("wallet_nonce").cloned().unwrap_or_default(), nonce);
    }
    let plain = desk.fetch(&created).claims;
    assert!(plain.get("wallet_nonce").is_none());
    for bad in [
        &*format!("wallet_nonce={longest}n"),
        "wallet_nonce=a&wallet_nonce=a",
        "wallet_nonce=%zz",
        "wallet_nonce=%ff",
        &*format!("x={}", "y".repeat(65 * 1024)),
    ] {
        desk.tenant.http.send(&post(bad)).expect_error(400, "invalid_request");
    }
    let json = Request::post(request_path(&created)).json(&json!({"wallet_nonce": "a"}));
    desk.tenant.http.send(&json).expect_error(400, "invalid_request");
    let untyped = Request::post(request_path(&created)).bytes("wallet_nonce=a");
    desk.tenant.http.send(&untyped).expect_error(400, "invalid_request");
    let nothing = Request::post(request_path(&created)).bytes("");
    desk.tenant.http.send(&nothing).expect_error(400, "invalid_request");
    let broken = desk.tenant.http.send(&post("wallet_nonce=a\r\n"));
    assert!(broken.message().contains("line break"), "{}", broken.message());
    broken.expect_error(400, "invalid_request");
    let put = Request::new("PUT", request_path(&created));
    let refused = desk.tenant.http.send(&put).expect_error(405, "method_not_allowed");
    assert_eq!(refused.header("allow"), Some("GET, HEAD, POST"));
}

#[test]
fn a_missing_request_is_404_whatever_the_content_type() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let unknown = Request::post("/v1/oid4vp/request/00000000-0000-4000-8000-000000000000");
    desk.tenant.http.send(&unknown.bytes("")).expect_error(404, "not_found");
    desk.tenant.delete(&created.id).expect_status(204);
    let gone = Request::post(request_path(&created)).bytes("wallet_nonce=a");
    desk.tenant.http.send(&gone).expect_error(404, "not_found");
}

fn form_post(created: &Created, body: &str) -> Request {
    let post = Request::post(request_path(created));
    post.header("Content-Type", "application/x-www-form-urlencoded").bytes(body)
}

#[test]
fn settled_deleted_and_unknown_sessions_have_no_request() {
    let mut desk = Desk::jar();
    let [verified, failed, deleted] = [(); 3].map(|()| desk.create());
    let jar = desk.fetch(&verified);
    let good = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&verified.id, &good).expect_status(200);
    let jar = desk.fetch(&failed);
    let error = JarAnswer::error(&jar, "access_denied").form_body();
    desk.tenant.post_answer(&failed.id, &error).expect_status(200);
    desk.tenant.delete(&deleted.id).expect_status(204);
    for (created, status) in [(verified, "VERIFIED"), (failed, "FAILED"), (deleted, "")] {
        expect_nothing(&mut desk, &created);
        if !status.is_empty() {
            assert_eq!(desk.status(&created), status);
        }
    }
    let mut unknown = desk.create();
    unknown.id = "ses_0000000000000000000000".into();
    expect_nothing(&mut desk, &unknown);
}

fn expect_nothing(desk: &mut Desk, created: &Created) {
    desk.get(created).expect_error(404, "not_found");
    desk.tenant.http.send(&form_post(created, "wallet_nonce=a")).expect_error(404, "not_found");
    let head = Request::new("HEAD", request_path(created));
    desk.tenant.http.send(&head).expect_status(404);
}

#[test]
fn an_inline_session_has_no_request_object() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    tenant.http.send(&Request::get(request_path(&created))).expect_error(404, "not_found");
    tenant.http.send(&form_post(&created, "")).expect_error(404, "not_found");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}

#[test]
fn a_session_keeps_its_profile_when_the_mode_of_the_gateway_changes() {
    let mut desk = Desk::start(Installation::at_one_address(), "jar");
    let created = desk.create();
    let mut desk = desk.restart(false, "inline");
    let jar = desk.fetch(&created);
    let answer = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&created.id, &answer).expect_status(200);
    assert_eq!(desk.tenant.read(&created.id)["verification_details"]["request_mode"], "jar");
    let fresh = desk.create();
    assert!(fresh.uri.contains("presentation_definition="), "{}", fresh.uri);
}

#[test]
fn following_the_link_makes_the_session_pending() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let open = format!("/v1/sessions/{}/open?scheme=haip", created.id);
    let head = desk.tenant.http.send(&Request::new("HEAD", &*open)).expect_status(302);
    assert_eq!(desk.status(&created), "CREATED");
    let followed = desk.tenant.http.send(&Request::get(open)).expect_status(302);
    assert_eq!(desk.status(&created), "PENDING");
    let location = created.answer["deep_links"]["haip"].as_str();
    assert_eq!((head.header("location"), followed.header("location")), (location, location));
    desk.fetch(&created);
    assert_eq!(desk.status(&created), "PENDING");
}
