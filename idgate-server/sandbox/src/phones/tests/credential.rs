//! The credential endpoint.

use std::collections::BTreeSet;

use idgate_testkit::openid4vci::{is_bound_to, received_mdoc, received_sd_jwt};
use idgate_testkit::openid4vp::Certificate;
use idgate_testkit::time::DAY_MS;

use super::*;
use crate::limits::{MAX_REQUESTS_OF_OFFER, TOKEN_LIFE_MS};

const URL: &str = "https://sandbox.example/vci/credential";

fn good(desk: &Desk, sample: Sample) -> Value {
    let own = key("holder");
    request(sample, &[desk.proof(&own).sign(&own)])
}

/// Checks that the token still gets its credential.
#[track_caller]
fn still_good(desk: &Desk, token: &str) {
    let reply = desk.credential(token, &good(desk, Sample::Pid));
    assert_eq!(reply.status, 200, "{reply:?}");
}

fn credentials(reply: &Reply) -> Vec<String> {
    let all = reply.body["credentials"].as_array().unwrap_or_else(|| panic!("{reply:?}"));
    all.iter().map(|one| one["credential"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_token_has_a_bounded_number_of_requests() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    for _ in 0..MAX_REQUESTS_OF_OFFER {
        let reply = desk.credential(&token, &request(Sample::Pid, &[]));
        assert_eq!(reply.status, 400, "{reply:?}");
    }
    let reply = desk.credential(&token, &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (401, "invalid_token"));
}

#[test]
fn every_sample_is_issued_to_the_keys_in_their_order() {
    for sample in Sample::ALL {
        let desk = Desk::new();
        let made = desk.offer(sample);
        let token = desk.redeem(&made, &[]).text("access_token");
        let keys = ["a", "b", "c"].map(key);
        let proofs: Vec<String> = keys.iter().map(|own| desk.proof(own).sign(own)).collect();
        let reply = desk.credential(&token, &request(sample, &proofs));
        assert_eq!(reply.header("cache-control"), "no-store");
        let all = credentials(&reply);
        assert_eq!(all.len(), 3, "{sample:?}");
        for (credential, own) in all.iter().zip(&keys) {
            assert!(is_bound_to(credential, own), "{sample:?}");
        }
        assert!(reply.body["credential"].is_null(), "only drafts have it");
        assert_eq!(desk.state_of(&made), (Progress::Issued, None));
        assert_eq!(desk.issued(&made), 3);
    }
}

#[test]
fn samples_are_of_no_state() {
    let own = key("holder");
    for sample in [Sample::Pid, Sample::Membership] {
        let desk = Desk::new();
        let reply =
            desk.credential(&desk.token(sample), &request(sample, &[desk.proof(&own).sign(&own)]));
        let [credential] = &credentials(&reply)[..] else { panic!("{reply:?}") };
        let issued = received_sd_jwt(credential).unwrap();
        let disclosed: Vec<String> =
            issued.disclosures.iter().map(|one| one.json().unwrap().to_string()).collect();
        for text in disclosed.iter().chain([&issued.payload().to_string()]) {
            for code in ["\"DE\"", "\"FR\""] {
                assert!(!text.contains(code), "{text}");
            }
        }
        assert!(sample != Sample::Pid || disclosed.iter().any(|one| one.contains("\"UT\"")));
    }
}

#[test]
fn a_batch_has_one_place_and_one_set_of_salts_for_each_credential_and_times_of_days() {
    let desk = Desk::new();
    let keys: Vec<SigningKey> = (0..10).map(|n| key(&n.to_string())).collect();
    let proofs: Vec<String> = keys.iter().map(|own| desk.proof(own).sign(own)).collect();
    let reply = desk.credential(&desk.token(Sample::Pid), &request(Sample::Pid, &proofs));
    let (mut places, mut disclosures, mut count) = (BTreeSet::new(), BTreeSet::new(), 0);
    for text in credentials(&reply) {
        let issued = received_sd_jwt(&text).unwrap();
        let payload = issued.payload();
        places.insert(payload["status"]["status_list"]["idx"].as_u64().unwrap());
        count += issued.disclosures.len();
        disclosures.extend(issued.disclosures.into_iter().map(|one| one.text));
        for time in ["iat", "nbf", "exp"] {
            assert_eq!(payload[time].as_u64().unwrap() * 1000 % DAY_MS, 0, "{time}");
        }
        let life = payload["exp"].as_u64().unwrap() - payload["iat"].as_u64().unwrap();
        assert_eq!(life * 1000, 14 * DAY_MS);
    }
    assert_eq!((places.len(), disclosures.len()), (10, count));
    let reply = desk.credential(&desk.token(Sample::ProofOfAge), &{
        let proofs: Vec<String> = keys.iter().map(|own| desk.proof(own).sign(own)).collect();
        request(Sample::ProofOfAge, &proofs)
    });
    let mut randoms = BTreeSet::new();
    for (text, own) in credentials(&reply).iter().zip(&keys) {
        let mut document = received_mdoc(text, own).unwrap();
        randoms
            .extend(document.issuer_signed.items.iter().map(|item| item.encoded.clone().unwrap()));
        let list = document.issuer_signed.mso.at("status").at("status_list").clone();
        let uri = list.get("uri").unwrap().text().unwrap().to_owned();
        assert_eq!(uri, format!("{PLAIN}/status.cwt"));
    }
    assert_eq!(randoms.len(), 30);
}

/// Some wallets (Credo) refuse an `iss` whose host is not a name of the certificate.
#[test]
fn an_sd_jwt_has_its_certificate_with_the_host_of_iss_as_a_name_and_no_root() {
    let desk = Desk::new();
    let reply = desk.credential(&desk.token(Sample::Membership), &good(&desk, Sample::Membership));
    let issued = received_sd_jwt(&credentials(&reply)[0]).unwrap();
    let header = idgate_testkit::jws::header(&issued.jwt).unwrap();
    assert_eq!((&header["typ"], header["kid"].is_null()), (&json!("dc+sd-jwt"), true));
    let chain = header["x5c"].as_array().unwrap();
    assert_eq!(chain.len(), 1);
    let leaf = Certificate::from_x5c(chain[0].as_str().unwrap()).unwrap();
    assert_eq!(leaf.dns_names, ["sandbox.example"]);
    assert!(!leaf.ca && !leaf.is_issued_by(&leaf));
    assert_eq!(issued.payload()["iss"], PLAIN);
    let uri = &issued.payload()["status"]["status_list"]["uri"];
    assert_eq!(uri, &json!(format!("{PLAIN}/status.jwt")));
}

#[test]
fn a_request_without_a_token_is_401_without_an_error() {
    let desk = Desk::new();
    let reply = desk.post("/vci/credential", &[], &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (401, ""));
    let challenges = reply.response.headers().get_all("www-authenticate");
    let challenges: Vec<&str> = challenges.iter().map(|one| one.to_str().unwrap()).collect();
    assert_eq!(challenges, ["Bearer", "DPoP algs=\"ES256\""]);
}

#[test]
fn an_unknown_token_an_expired_one_and_one_of_the_other_issuer_are_invalid_token() {
    let desk = Desk::new();
    let reply = desk.credential("unknown", &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (401, "invalid_token"));
    assert_eq!(reply.header("www-authenticate"), "Bearer error=\"invalid_token\"");
    let token = desk.token(Sample::Pid);
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer)];
    let reply = desk.post("/vci-attested/credential", &headers, &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (401, "invalid_token"));
    desk.pass(TOKEN_LIFE_MS);
    assert_eq!(
        desk.credential(&token, &good(&desk, Sample::Pid)).outcome(),
        (401, "invalid_token")
    );
}

#[test]
fn a_token_in_the_query_is_refused() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let path = format!("/vci/credential?access_token={token}");
    let reply = desk.post(&path, &[], &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (400, "invalid_request"));
    still_good(&desk, &token);
}

/// A token that is bound to the key `dpop`.
fn bound(desk: &Desk) -> String {
    let (own, made) = (key("dpop"), desk.offer(Sample::Pid));
    let url = format!("{PLAIN}/token");
    let proof = WalletJwt::dpop(&own, &url, "at the token endpoint", None, desk.now()).sign(&own);
    let code = code_of(&made);
    let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
    desk.form("/vci/token", &[("dpop", &proof)], &fields).text("access_token")
}

fn with_dpop(desk: &Desk, token: &str, scheme: &str, proof: Option<&str>) -> Reply {
    let authorization = format!("{scheme} {token}");
    let mut headers = vec![("authorization", &*authorization)];
    headers.extend(proof.map(|proof| ("dpop", proof)));
    desk.post("/vci/credential", &headers, &good(desk, Sample::Pid))
}

#[test]
fn a_bound_token_as_a_bearer_token_or_with_another_key_is_invalid_token() {
    let desk = Desk::new();
    let token = bound(&desk);
    let reply = with_dpop(&desk, &token, "Bearer", None);
    assert_eq!(reply.outcome(), (401, "invalid_token"));
    assert!(reply.header("www-authenticate").starts_with("DPoP error=\"invalid_token\""));
    let other = key("other");
    let proof = WalletJwt::dpop(&other, URL, "a", Some(&token), desk.now()).sign(&other);
    let reply = with_dpop(&desk, &token, "DPoP", Some(&proof));
    assert_eq!(reply.outcome(), (401, "invalid_token"));
    let own = key("dpop");
    let proof = WalletJwt::dpop(&own, URL, "b", Some(&token), desk.now()).sign(&own);
    assert_eq!(with_dpop(&desk, &token, "DPoP", Some(&proof)).status, 200);
}

#[test]
fn a_dpop_proof_of_another_address_or_token_or_replayed_is_invalid_dpop_proof() {
    let (desk, own) = (Desk::new(), key("dpop"));
    let token = bound(&desk);
    let good = || WalletJwt::dpop(&own, URL, "jti", Some(&token), desk.now());
    let replayed = WalletJwt::dpop(&own, URL, "at the token endpoint", Some(&token), desk.now());
    for (rule, proof) in [
        ("none", None),
        ("another address", Some(good().claim("htu", format!("{PLAIN}/token")))),
        ("the http address", Some(good().claim("htu", URL.replace("https", "http")))),
        ("no ath", Some(good().claim("ath", Value::Null))),
        ("ath of another token", Some(good().claim("ath", "x"))),
        ("replayed", Some(replayed)),
    ] {
        let proof = proof.map(|proof| proof.sign(&own));
        let reply = with_dpop(&desk, &token, "DPoP", proof.as_deref());
        assert_eq!(reply.outcome(), (401, "invalid_dpop_proof"), "{rule}: {reply:?}");
        let challenge = reply.header("www-authenticate");
        assert!(challenge.starts_with("DPoP error=\"invalid_dpop_proof\""), "{rule}");
    }
    let proof = good().claim("htu", format!("{URL}?a=b")).sign(&own);
    assert_eq!(with_dpop(&desk, &token, "DPoP", Some(&proof)).status, 200, "without the query");
}

#[test]
fn a_dpop_proof_of_a_refused_request_is_not_accepted_again() {
    let (desk, own) = (Desk::new(), key("dpop"));
    let token = bound(&desk);
    let proof = WalletJwt::dpop(&own, URL, "jti", Some(&token), desk.now()).sign(&own);
    let authorization = format!("DPoP {token}");
    let headers = [("authorization", &*authorization), ("dpop", &*proof)];
    let reply = desk.post("/vci/credential", &headers, &json!({}));
    assert_eq!(reply.outcome(), (400, "invalid_credential_request"));
    let reply = with_dpop(&desk, &token, "DPoP", Some(&proof));
    assert_eq!(reply.outcome(), (401, "invalid_dpop_proof"), "it does not cover the body");
    let next = WalletJwt::dpop(&own, URL, "next", Some(&token), desk.now()).sign(&own);
    assert_eq!(with_dpop(&desk, &token, "DPoP", Some(&next)).status, 200);
}

#[test]
fn a_request_for_an_encrypted_answer_is_invalid_encryption_parameters() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let mut body = good(&desk, Sample::Pid);
    body["credential_response_encryption"] =
        json!({ "jwk": key("encryption").public_jwk(), "enc": "A128GCM" });
    let reply = desk.credential(&token, &body);
    assert_eq!(reply.outcome(), (400, "invalid_encryption_parameters"));
    still_good(&desk, &token);
}

#[test]
fn an_unknown_configuration_or_identifier_has_its_own_error() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let own = key("holder");
    for (member, error) in [
        ("credential_configuration_id", "unknown_credential_configuration"),
        ("credential_identifier", "unknown_credential_identifier"),
    ] {
        let proofs = json!({ "jwt": [desk.proof(&own).sign(&own)] });
        let reply = desk.credential(&token, &json!({ member: "unknown", "proofs": proofs }));
        assert_eq!(reply.outcome(), (400, error));
    }
    still_good(&desk, &token);
}

#[test]
fn both_ids_or_none_or_a_body_that_is_not_an_object_is_invalid_credential_request() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let id = Sample::Pid.id();
    let both = json!({ "credential_configuration_id": id, "credential_identifier": id });
    for body in [both, json!({}), json!([]), json!({ "credential_configuration_id": 1 })] {
        let reply = desk.credential(&token, &body);
        assert_eq!(reply.outcome(), (400, "invalid_credential_request"), "{body}");
    }
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer), ("content-type", "application/json")];
    let twice = br#"{"credential_configuration_id":"a","credential_configuration_id":"b"}"#;
    for body in [&b"{"[..], b"", twice] {
        let reply = desk.send("POST", "/vci/credential", &headers, Some(body));
        assert_eq!(reply.outcome(), (400, "invalid_credential_request"));
    }
    still_good(&desk, &token);
}

#[test]
fn a_body_over_the_bound_is_invalid_credential_request_with_413() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let bearer = format!("Bearer {token}");
    let reply = desk.send("POST", "/vci/credential", &[("authorization", &bearer)], None);
    assert_eq!(reply.outcome(), (413, "invalid_credential_request"));
    still_good(&desk, &token);
}

#[test]
fn a_configuration_outside_of_the_offer_is_credential_request_denied() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let reply = desk.credential(&token, &good(&desk, Sample::Membership));
    assert_eq!(reply.outcome(), (400, "credential_request_denied"));
    still_good(&desk, &token);
}

#[test]
fn a_second_batch_is_credential_request_denied() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    still_good(&desk, &token);
    let reply = desk.credential(&token, &good(&desk, Sample::Pid));
    assert_eq!(reply.outcome(), (400, "credential_request_denied"));
}

#[test]
fn a_request_by_the_identifier_of_the_token_and_with_unknown_members_is_served() {
    let (desk, own) = (Desk::new(), key("holder"));
    let made = desk.offer(Sample::Pid);
    let details =
        json!([{ "type": "openid_credential", "credential_configuration_id": "pid_sd_jwt" }]);
    let reply = desk.redeem(&made, &[("authorization_details", &details.to_string())]);
    let id = reply.body["authorization_details"][0]["credential_identifiers"][0].clone();
    let body = json!({
        "credential_identifier": id,
        "format": "dc+sd-jwt",
        "unknown": {},
        "proofs": { "jwt": [desk.proof(&own).sign(&own)] },
    });
    assert_eq!(desk.credential(&reply.text("access_token"), &body).status, 200);
}

#[test]
fn a_request_of_draft_13_has_one_proof_and_reads_one_credential() {
    for (sample, format, member) in [
        (Sample::Pid, "vc+sd-jwt", "vct"),
        (Sample::Pid, "dc+sd-jwt", "vct"),
        (Sample::DrivingLicence, "mso_mdoc", "doctype"),
    ] {
        let (desk, own) = (Desk::new(), key("holder"));
        let token = desk.redeem(&desk.offer(sample), &[]);
        let nonce = token.text("c_nonce");
        let proof = WalletJwt::proof(&own, PLAIN, &nonce, desk.now()).sign(&own);
        let body = json!({
            "format": format,
            member: sample.kind(),
            "proof": { "proof_type": "jwt", "jwt": proof },
        });
        let reply = desk.credential(&token.text("access_token"), &body);
        let text = reply.text("credential");
        assert_eq!(credentials(&reply), std::slice::from_ref(&text), "{format}");
        if let Some(issued) = received_sd_jwt(&text) {
            assert_eq!(idgate_testkit::jws::header(&issued.jwt).unwrap()["typ"], format);
        }
    }
}

#[test]
fn a_refused_draft_13_proof_returns_a_new_nonce_and_an_unknown_type_the_drafts_error() {
    let (desk, own) = (Desk::new(), key("holder"));
    let token = desk.token(Sample::Pid);
    let with = |nonce: &str, vct: &str| {
        let proof = WalletJwt::proof(&own, PLAIN, nonce, desk.now()).sign(&own);
        json!({ "format": "vc+sd-jwt", "vct": vct, "proof": { "proof_type": "jwt", "jwt": proof } })
    };
    let reply = desk.credential(&token, &with("old", Sample::Pid.kind()));
    assert_eq!(reply.outcome(), (400, "invalid_proof"));
    let nonce = reply.text("c_nonce");
    let unknown = desk.credential(&token, &with(&nonce, "urn:other"));
    assert_eq!(unknown.outcome(), (400, "unsupported_credential_type"));
    assert_eq!(desk.credential(&token, &with(&nonce, Sample::Pid.kind())).status, 200);
}

#[test]
fn descriptions_of_errors_are_ascii_without_quotes_and_backslashes() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    for body in [json!({}), json!({ "credential_configuration_id": "x" })] {
        let text = desk.credential(&token, &body).text("error_description");
        assert!(text.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e)));
    }
}
