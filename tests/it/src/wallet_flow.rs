//! Whole verifications over HTTP: both request forms, both encodings of the answer, and what the
//! tenant and the browser get.

use std::collections::BTreeSet;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER, VCT};
use idgate_testkit::wallet::Answer;
use serde_json::json;

use crate::http::{Request, Response};
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, form, members, now_ms, request_for, sample_trust, sample_wallet, timestamp,
};

const SCHEMES: [(&str, &str); 3] =
    [("openid4vp", "openid4vp"), ("eudi-wallet", "eudi-openid4vp"), ("haip", "haip-vp")];

#[test]
fn a_session_is_created_as_specified() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    let Created { id, uri, answer, .. } = tenant.create(&request_for(&["given_name"]));
    let names = ["deep_links", "expires_at", "livemode", "qr_code_url", "session_id"];
    assert_eq!(members(&answer), names);
    let token = id.strip_prefix("ses_").unwrap_or_default();
    assert!(token.len() == 22 && token.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    assert_eq!(timestamp(&answer["expires_at"]) - machine.now_ms(), 300_000);
    assert_eq!(members(&answer["deep_links"]), ["eudi-wallet", "haip", "openid4vp"]);
    let query = uri.strip_prefix("openid4vp://").unwrap();
    for (key, scheme) in SCHEMES {
        assert_eq!(answer["deep_links"][key], format!("{scheme}://{query}"));
    }
    let request = AuthorizationRequest::parse(&uri).unwrap();
    let response_uri = format!("{}/v1/oid4vp/response/{id}", gateway.server.base_url);
    assert_eq!(request.response_uri, response_uri);
    let session = tenant.read(&id);
    assert_eq!(members(&session), ["expires_at", "livemode", "session_id", "status"]);
    assert_eq!(session["status"], "PENDING");
    assert_eq!(session["expires_at"], answer["expires_at"]);
}

#[test]
fn ids_nonces_and_states_are_unique_per_session() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let mut seen = BTreeSet::new();
    for _ in 0..50 {
        let created = tenant.create(&request_for(&["given_name"]));
        let request = AuthorizationRequest::parse(&created.uri).unwrap();
        for value in [created.id, request.nonce, request.state] {
            assert!(seen.insert(value));
        }
    }
}

#[test]
fn form_and_json_answers_are_verified() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    for encode in [Answer::form_body, Answer::json_body] {
        let created = tenant.create(&request_for(&["given_name", "nationalities"]));
        let answer = wallet.answer_uri(&created.uri, now_ms()).unwrap();
        let reply = tenant.post_answer(&created.id, &encode(&answer)).expect_status(200);
        assert_eq!(reply.json(), json!({ "status": "ok" }));
        let session = tenant.read(&created.id);
        assert_eq!(session["status"], "VERIFIED");
        let claims = json!({ "pid": { "given_name": "Erika", "nationalities": ["DE", "FR"] } });
        assert_eq!(session["claims"], claims);
    }
}

#[test]
fn verification_details_say_what_was_trusted() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let before = now_ms();
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    let details = tenant.read(&created.id)["verification_details"].clone();
    assert_eq!(members(&details), ["credentials", "request_mode", "same_subject", "verified_at"]);
    assert_eq!(details["request_mode"], "inline");
    assert_eq!(details["same_subject"], json!([]));
    assert!((before..=now_ms()).contains(&timestamp(&details["verified_at"])), "{details}");
    let mut credential = details["credentials"][0].clone();
    let [from, until] = ["valid_from", "valid_until"]
        .map(|name| timestamp(&credential.as_object_mut().unwrap().remove(name).unwrap()));
    assert!(from < before && before < until, "{details}");
    let spki = samples::issuer_key(Curve::P256).public_spki();
    let digest: String = HashAlg::Sha256.hash(&spki).iter().map(|b| format!("{b:02x}")).collect();
    let expected = json!({
        "id": "pid",
        "format": "vc+sd-jwt",
        "issuer_id": ISSUER,
        "credential_type": VCT,
        "issuer": ISSUER,
        "alg": "ES256",
        "holder_binding": "kb_jwt",
        "trust": "issuer_key",
        "trust_anchor_sha256": digest,
        "revocation": "not_published",
        "revocation_details": { "credential": "not_published", "signer": "not_published" },
    });
    assert_eq!(credential, expected);
}

#[test]
fn the_legacy_form_asks_for_the_entrys_default_claims() {
    let gateway = Gateway::start();
    let claims = ["trust", "add", ISSUER, "--claims", "given_name,birthdate"];
    assert_eq!(gateway.installation.run(&claims).code, 0);
    let mut tenant = gateway.tenant();
    for request in
        [json!({ "issuer_id": ISSUER }), json!({ "issuer_id": ISSUER, "format": "vc+sd-jwt" })]
    {
        let created = tenant.verified(&request, &sample_wallet());
        let session = tenant.read(&created.id);
        assert_eq!(session["claims"], json!({ "given_name": "Erika", "birthdate": "1984-08-12" }));
        assert_eq!(session["verification_details"]["credentials"][0]["id"], "credential_1");
    }
}

#[test]
fn the_response_code_reaches_the_browser_and_the_tenant() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let mut codes = BTreeSet::new();
    for (given, start, end) in [
        ("https://rp.example/done", "https://rp.example/done?response_code=", ""),
        ("https://rp.example/done?x=1#top", "https://rp.example/done?x=1&response_code=", "#top"),
        ("myapp://done", "myapp://done?response_code=", ""),
    ] {
        let mut request = request_for(&["given_name"]);
        request["redirect_uri"] = given.into();
        let created = tenant.create(&request);
        let reply = tenant.post_answer(&created.id, &form(&sample_wallet(), &created));
        let reply = reply.expect_status(200).json();
        assert_eq!(members(&reply), ["redirect_uri", "status"]);
        let uri = reply["redirect_uri"].as_str().unwrap();
        let code = uri.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        let code = code.unwrap_or_else(|| panic!("{uri}"));
        // 128 bits are 22 characters of base64url.
        assert!(code.len() >= 22 && codes.insert(code.to_owned()), "{uri}");
        assert_eq!(tenant.read(&created.id)["verification_details"]["response_code"], code);
    }
}

#[test]
fn open_redirects_to_the_wallet_while_the_session_is_open() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut open = |id: &str, query: &str| {
        tenant.http.send(&Request::get(format!("/v1/sessions/{id}/open{query}")))
    };
    let location = |response: Response| {
        response.expect_status(302).header("location").unwrap_or_default().to_owned()
    };
    assert_eq!(location(open(&created.id, "")), created.uri);
    for (key, _) in SCHEMES {
        let link = location(open(&created.id, &format!("?scheme={key}")));
        assert_eq!(created.answer["deep_links"][key], link);
    }
    for other in ["https", "eudi-openid4vp", "HAIP", "", "openid4vp%00", "javascript"] {
        let response = open(&created.id, &format!("?scheme={other}"));
        response.expect_error(404, "not_found");
    }
    open("ses_0000000000000000000000", "").expect_error(404, "not_found");
    let reply = tenant.post_answer(&created.id, &form(&sample_wallet(), &created));
    reply.expect_status(200);
    let settled = Request::get(format!("/v1/sessions/{}/open", created.id));
    tenant.http.send(&settled).expect_error(404, "not_found");
}

#[test]
fn a_trust_change_applies_to_the_next_request() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    assert_eq!(gateway.installation.run(&["trust", "remove", ISSUER]).code, 0);
    let refused = tenant.post_session(&request_for(&["given_name"]));
    refused.expect_error(400, "unknown_issuer");
    let mut other = sample_trust();
    other.vct = vec!["urn:other".into()];
    gateway.installation.trust(&other, &[]);
    let created = tenant.create(&request_for(&["given_name"]));
    let asks = AuthorizationRequest::parse(&created.uri).unwrap();
    assert_eq!(asks.descriptors[0].vct, ["urn:other"]);
}
