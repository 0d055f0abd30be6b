//! The token endpoint.

use super::*;
use crate::limits::{
    MAX_JTIS, MAX_REQUESTS_OF_OFFER, MAX_TOKENS, OFFER_LIFE_MS, PHONE_REQUESTS_A_MINUTE,
    TOKEN_LIFE_MS,
};
use crate::phones::digests::digest;

const URL: &str = "https://sandbox.example/vci/token";

#[test]
fn a_code_gives_a_bearer_token_and_a_code_with_a_dpop_proof_a_bound_one() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    let reply = desk.redeem(&made, &[]);
    assert_eq!((reply.status, reply.body["token_type"].as_str()), (200, Some("Bearer")));
    assert_eq!(reply.body["expires_in"], 300);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert!(reply.body["c_nonce"].is_string(), "drafts 13 and 14 read it here");
    assert_eq!(desk.state_of(&made).0, Progress::Token);
    let proof = WalletJwt::dpop(&key("dpop"), URL, "one", None, desk.now()).sign(&key("dpop"));
    let reply = dpop(&desk, &desk.offer(Sample::Pid), &proof);
    assert_eq!(reply.body["token_type"], "DPoP", "{reply:?}");
}

fn dpop(desk: &Desk, made: &Made, proof: &str) -> Reply {
    let code = code_of(made);
    let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
    desk.form("/vci/token", &[("dpop", proof)], &fields)
}

/// Checks that the offer is unchanged: its code still gives a token.
#[track_caller]
fn is_still_open(desk: &Desk, made: &Made) {
    let reply = desk.redeem(made, &[]);
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn an_unknown_grant_type_is_unsupported_grant_type() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    let code = code_of(&made);
    for grant in ["authorization_code", "refresh_token"] {
        let fields = [("grant_type", grant), ("pre-authorized_code", &*code)];
        let reply = desk.form("/vci/token", &[], &fields);
        assert_eq!(reply.outcome(), (400, "unsupported_grant_type"), "{grant}");
    }
    is_still_open(&desk, &made);
}

#[test]
fn a_form_without_a_code_or_grant_type_or_with_a_repeated_field_is_invalid_request() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    let code = code_of(&made);
    let (grant, code) = (("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code));
    for fields in [&[grant][..], &[code], &[grant, code, code], &[grant, grant, code]] {
        let reply = desk.form("/vci/token", &[], fields);
        assert_eq!(reply.outcome(), (400, "invalid_request"), "{fields:?}");
    }
    let json = json!({ "grant_type": PRE_AUTHORIZED, "pre-authorized_code": code.1 });
    assert_eq!(desk.post("/vci/token", &[], &json).outcome(), (400, "invalid_request"));
    is_still_open(&desk, &made);
}

#[test]
fn a_body_over_the_bound_is_invalid_request_with_413() {
    let reply = Desk::new().send("POST", "/vci/token", &[], None);
    assert_eq!(reply.outcome(), (413, "invalid_request"));
}

#[test]
fn a_replayed_code_is_invalid_grant() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    is_still_open(&desk, &made);
    assert_eq!(desk.redeem(&made, &[]).outcome(), (400, "invalid_grant"));
}

#[test]
fn an_expired_code_is_invalid_grant() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    desk.pass(OFFER_LIFE_MS);
    assert_eq!(desk.redeem(&made, &[]).outcome(), (400, "invalid_grant"));
}

#[test]
fn an_unknown_code_and_one_of_the_other_issuer_are_invalid_grant() {
    let desk = Desk::new();
    let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", "unknown")];
    assert_eq!(desk.form("/vci/token", &[], &fields).outcome(), (400, "invalid_grant"));
    let made = desk.offer_with(Sample::Pid, |wish| Wish { attested: true, ..wish });
    assert_eq!(desk.redeem(&made, &[]).outcome(), (400, "invalid_grant"));
}

#[test]
fn a_missing_and_an_unexpected_tx_code_are_invalid_request() {
    let desk = Desk::new();
    let with = desk.offer_with(Sample::Pid, |wish| Wish { tx_code: true, ..wish });
    assert_eq!(desk.redeem(&with, &[]).outcome(), (400, "invalid_request"));
    let code = with.tx_code.clone().unwrap();
    assert_eq!(desk.redeem(&with, &[("tx_code", &code)]).status, 200);
    let without = desk.offer(Sample::Pid);
    let reply = desk.redeem(&without, &[("tx_code", &code)]);
    assert_eq!(reply.outcome(), (400, "invalid_request"));
    is_still_open(&desk, &without);
}

fn wrong(code: &str) -> String {
    code.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect()
}

#[test]
fn four_wrong_tx_codes_leave_the_offer_open() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::Pid, |wish| Wish { tx_code: true, ..wish });
    let code = made.tx_code.clone().unwrap();
    for _ in 0..4 {
        let reply = desk.redeem(&made, &[("tx_code", &wrong(&code))]);
        assert_eq!(reply.outcome(), (400, "invalid_grant"));
    }
    assert_eq!(desk.state_of(&made), (Progress::Failed, Some("tx_code is wrong")));
    assert_eq!(desk.redeem(&made, &[("tx_code", &code)]).status, 200);
}

#[test]
fn a_fifth_wrong_tx_code_voids_the_offer() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::Pid, |wish| Wish { tx_code: true, ..wish });
    let code = made.tx_code.clone().unwrap();
    for _ in 0..5 {
        let reply = desk.redeem(&made, &[("tx_code", &wrong(&code))]);
        assert_eq!(reply.outcome(), (400, "invalid_grant"));
    }
    let reply = desk.redeem(&made, &[("tx_code", &code)]);
    assert_eq!(reply.outcome(), (400, "invalid_grant"), "the right one comes too late");
}

#[test]
fn authorization_details_come_back_with_identifiers() {
    let desk = Desk::new();
    let made = desk.offer(Sample::DrivingLicence);
    let details = json!([{
        "type": "openid_credential",
        "credential_configuration_id": Sample::DrivingLicence.id(),
        "unknown": 1,
    }]);
    let reply = desk.redeem(&made, &[("authorization_details", &details.to_string())]);
    let one = &reply.body["authorization_details"][0];
    assert_eq!(one["credential_identifiers"].as_array().unwrap().len(), 1, "{reply:?}");
    assert_eq!((&one["type"], &one["unknown"]), (&json!("openid_credential"), &json!(1)));
}

#[test]
fn authorization_details_for_another_credential_are_invalid_authorization_details() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    for details in [
        json!([{ "type": "openid_credential", "credential_configuration_id": "membership" }]),
        json!([{ "type": "payment", "credential_configuration_id": "pid_sd_jwt" }]),
        json!([]),
        json!("x"),
    ] {
        let reply = desk.redeem(&made, &[("authorization_details", &details.to_string())]);
        assert_eq!(reply.outcome(), (400, "invalid_authorization_details"), "{details}");
    }
    is_still_open(&desk, &made);
}

#[test]
fn a_dpop_proof_that_breaks_a_rule_is_invalid_dpop_proof() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    let own = key("dpop");
    let good = || WalletJwt::dpop(&own, URL, "jti", None, desk.now());
    let seconds = desk.now() / 1000;
    let large = SigningKey::from_seed(Curve::P384, "large");
    for (rule, proof) in [
        ("another address", good().claim("htu", "https://sandbox.example/vci/credential")),
        ("the address behind the tunnel", good().claim("htu", "http://localhost/vci/token")),
        ("another method", good().claim("htm", "GET")),
        ("another type", good().header("typ", "jwt")),
        ("no key", good().header("jwk", Value::Null)),
        ("a private key", good().header("jwk", own.private_jwk())),
        ("a key of another curve", good().header("jwk", large.public_jwk())),
        ("another key", good().header("jwk", key("other").public_jwk())),
        ("no jti", good().claim("jti", Value::Null)),
        ("no iat", good().claim("iat", Value::Null)),
        ("an old one", good().claim("iat", seconds - 301)),
        ("one of the future", good().claim("iat", seconds + 61)),
        ("a critical extension", good().header("crit", json!(["exp"]))),
    ] {
        let reply = dpop(&desk, &made, &proof.sign(&own));
        assert_eq!(reply.outcome(), (400, "invalid_dpop_proof"), "{rule}");
    }
    for alg in ["none", "HS256", "ES384"] {
        let reply = dpop(&desk, &made, &good().header("alg", alg).sign(&own));
        assert_eq!(reply.outcome(), (400, "invalid_dpop_proof"), "{alg}");
    }
    assert_eq!(dpop(&desk, &made, &good().sign(&own)).status, 200, "the good one");
}

#[test]
fn a_refused_dpop_proof_fails_the_offer_of_the_code_and_no_other() {
    let desk = Desk::new();
    let (made, other) = (desk.offer(Sample::Pid), desk.offer(Sample::Pid));
    let attested = desk.offer_with(Sample::Pid, |wish| Wish { attested: true, ..wish });
    let own = key("dpop");
    let proof = WalletJwt::dpop(&own, URL, "jti", None, desk.now()).claim("htm", "GET").sign(&own);
    for named in [&made, &attested] {
        assert_eq!(dpop(&desk, named, &proof).outcome(), (400, "invalid_dpop_proof"));
    }
    let (progress, rule) = desk.state_of(&made);
    assert_eq!(progress, Progress::Failed);
    assert!(rule.unwrap().starts_with("htm"), "{rule:?}");
    assert_eq!(desk.state_of(&other), (Progress::Offered, None));
    assert_eq!(desk.state_of(&attested), (Progress::Offered, None), "of the other issuer");
    is_still_open(&desk, &made);
}

#[test]
fn a_parameter_without_a_value_counts_as_absent() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::Pid, |wish| Wish { tx_code: true, ..wish });
    for _ in 0..6 {
        assert_eq!(desk.redeem(&made, &[("tx_code", "")]).outcome(), (400, "invalid_request"));
    }
    let typed = made.tx_code.clone().unwrap();
    assert_eq!(desk.redeem(&made, &[("tx_code", &typed)]).status, 200, "no guess was counted");
    let open = desk.offer(Sample::Pid);
    let empty = [("tx_code", ""), ("client_id", ""), ("authorization_details", "")];
    assert_eq!(desk.redeem(&open, &empty).status, 200);
}

#[test]
fn a_replayed_dpop_proof_is_invalid_dpop_proof() {
    let desk = Desk::new();
    let own = key("dpop");
    let proof = WalletJwt::dpop(&own, URL, "jti", None, desk.now()).sign(&own);
    assert_eq!(dpop(&desk, &desk.offer(Sample::Pid), &proof).status, 200);
    let made = desk.offer(Sample::Pid);
    assert_eq!(dpop(&desk, &made, &proof).outcome(), (400, "invalid_dpop_proof"));
    is_still_open(&desk, &made);
}

#[test]
fn a_full_set_of_jtis_is_503_and_leaves_the_offer_open() {
    let desk = Desk::new();
    for n in 0..MAX_JTIS {
        let mut inner = desk.phones.inner();
        inner.jtis.keep(digest(&n.to_string()), (), u64::MAX, 0).unwrap();
    }
    let (own, made) = (key("dpop"), desk.offer(Sample::Pid));
    let proof = WalletJwt::dpop(&own, URL, "jti", None, desk.now()).sign(&own);
    let reply = dpop(&desk, &made, &proof);
    assert_eq!(reply.outcome(), (503, "temporarily_unavailable"));
    assert_eq!(reply.header("retry-after"), "30");
    is_still_open(&desk, &made);
}

#[test]
fn a_full_set_of_tokens_is_503_and_leaves_the_offer_open() {
    let desk = Desk::new();
    for _ in 0..MAX_TOKENS {
        desk.token(Sample::Pid);
    }
    let made = desk.offer(Sample::Pid);
    assert_eq!(desk.redeem(&made, &[]).outcome(), (503, "temporarily_unavailable"));
    desk.pass(TOKEN_LIFE_MS);
    is_still_open(&desk, &made);
}

#[test]
fn an_offer_has_a_bounded_number_of_requests() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::Pid, |wish| Wish { tx_code: true, ..wish });
    for _ in 0..MAX_REQUESTS_OF_OFFER {
        assert_eq!(desk.redeem(&made, &[]).outcome(), (400, "invalid_request"));
    }
    let code = made.tx_code.clone().unwrap();
    let reply = desk.redeem(&made, &[("tx_code", &code)]);
    assert_eq!(reply.outcome(), (400, "invalid_grant"));
}

#[test]
fn each_issuer_has_its_own_bounded_rate() {
    let desk = Desk::new();
    for _ in 0..PHONE_REQUESTS_A_MINUTE {
        assert_eq!(desk.send("POST", "/vci/nonce", &[], Some(b"")).status, 200);
    }
    let reply = desk.send("POST", "/vci/nonce", &[], Some(b""));
    assert_eq!(reply.status, 429);
    assert!(!reply.header("retry-after").is_empty());
    assert_eq!(desk.send("POST", "/vci-attested/nonce", &[], Some(b"")).status, 200);
    desk.pass(60_000);
    assert_eq!(desk.send("POST", "/vci/nonce", &[], Some(b"")).status, 200);
}
