//! Proofs of keys.

use super::*;
use crate::limits::NONCE_LIFE_MS;

/// Checks that the body is refused with this error, and that the token still gets its credential.
#[track_caller]
fn refused(desk: &Desk, token: &str, body: &Value, error: &str) {
    let reply = desk.credential(token, body);
    assert_eq!(reply.outcome(), (400, error), "{reply:?}");
}

#[track_caller]
fn still_good(desk: &Desk, token: &str) {
    let own = key("still good");
    let proof = desk.proof(&own).sign(&own);
    let reply = desk.credential(token, &request(Sample::Pid, &[proof]));
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[track_caller]
fn each_is(error: &str, cases: impl FnOnce(&Desk, &SigningKey) -> Vec<(&'static str, String)>) {
    let (desk, own) = (Desk::new(), key("holder"));
    let made = desk.offer(Sample::Pid);
    let token = desk.redeem(&made, &[]).text("access_token");
    for (rule, proof) in cases(&desk, &own) {
        let reply = desk.credential(&token, &request(Sample::Pid, &[proof]));
        assert_eq!(reply.outcome(), (400, error), "{rule}: {reply:?}");
        assert_eq!(desk.issued(&made), 0, "{rule}");
    }
    still_good(&desk, &token);
}

#[test]
fn a_proof_for_a_foreign_audience_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let of = |aud: Value| desk.proof(own).claim("aud", aud).sign(own);
        vec![
            ("another issuer", of(json!("https://other.example/vci"))),
            ("the attested issuer", of(json!(ATTESTED))),
            ("the endpoint", of(json!(format!("{PLAIN}/credential")))),
            ("a slash behind it", of(json!(format!("{PLAIN}/")))),
            ("one of two", of(json!([PLAIN, "https://other.example"]))),
            ("none", of(Value::Null)),
        ]
    });
}

#[test]
fn an_audience_in_an_array_of_one_is_accepted() {
    let (desk, own) = (Desk::new(), key("holder"));
    let token = desk.token(Sample::Pid);
    let proof = desk.proof(&own).claim("aud", json!([PLAIN])).sign(&own);
    assert_eq!(desk.credential(&token, &request(Sample::Pid, &[proof])).status, 200);
}

#[test]
fn a_proof_of_another_type_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let of = |typ: Value| desk.proof(own).header("typ", typ).sign(own);
        vec![("jwt", of(json!("jwt"))), ("dpop", of(json!("dpop+jwt"))), ("none", of(Value::Null))]
    });
}

#[test]
fn a_proof_of_another_algorithm_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let of = |alg: Value| desk.proof(own).header("alg", alg).sign(own);
        let none = {
            let unsigned = of(json!("none"));
            format!("{}.", unsigned.rsplit_once('.').unwrap().0)
        };
        vec![
            ("none", of(json!("none"))),
            ("none without a signature", none),
            ("a MAC", of(json!("HS256"))),
            ("another curve", of(json!("ES384"))),
            ("missing", of(Value::Null)),
        ]
    });
}

#[test]
fn a_proof_by_another_key_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let other = key("other");
        let large = SigningKey::from_seed(Curve::P384, "large");
        let mut off_curve = own.public_jwk();
        off_curve["y"] = own.public_jwk()["x"].clone();
        let with = |jwk: Value| desk.proof(own).header("jwk", jwk).sign(own);
        vec![
            ("another key in the header", with(other.public_jwk())),
            ("signed by another key", desk.proof(own).sign(&other)),
            ("a private key", with(own.private_jwk())),
            ("a point off the curve", with(off_curve)),
            ("a key on P-384", with(large.public_jwk())),
            ("no key", with(Value::Null)),
            ("kid and jwk", desk.proof(own).header("kid", "a").sign(own)),
            (
                "a did in kid",
                desk.proof(own).header("jwk", Value::Null).header("kid", "did:key:z").sign(own),
            ),
            ("x5c and jwk", desk.proof(own).header("x5c", json!(["AA=="])).sign(own)),
            ("a critical extension", desk.proof(own).header("crit", json!(["iat"])).sign(own)),
        ]
    });
}

#[test]
fn a_proof_of_a_wrong_time_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let seconds = desk.now() / 1000;
        let of = |iat: Value| desk.proof(own).claim("iat", iat).sign(own);
        vec![
            ("too old", of(json!(seconds - 301))),
            ("of the future", of(json!(seconds + 61))),
            ("missing", of(Value::Null)),
            ("a text", of(json!("now"))),
        ]
    });
}

#[test]
fn a_proof_without_a_nonce_is_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        vec![("no nonce", desk.proof(own).claim("nonce", Value::Null).sign(own))]
    });
}

#[test]
fn a_proof_with_a_foreign_nonce_is_invalid_nonce() {
    each_is("invalid_nonce", |desk, own| {
        let of = |nonce: &str| desk.proof(own).claim("nonce", nonce).sign(own);
        let theirs = desk.send("POST", "/vci-attested/nonce", &[], Some(b"")).text("c_nonce");
        vec![
            ("invented", of("n")),
            ("empty", of("")),
            ("of the other issuer", of(&theirs)),
            ("of another process", of(&Desk::new().nonce())),
        ]
    });
}

#[test]
fn an_old_nonce_is_invalid_nonce() {
    let (desk, own) = (Desk::new(), key("holder"));
    let nonce = desk.nonce();
    desk.pass(NONCE_LIFE_MS);
    let token = desk.token(Sample::Pid);
    let proof = WalletJwt::proof(&own, PLAIN, &nonce, desk.now()).sign(&own);
    refused(&desk, &token, &request(Sample::Pid, &[proof]), "invalid_nonce");
    still_good(&desk, &token);
}

#[test]
fn a_used_nonce_is_invalid_nonce() {
    let (desk, own) = (Desk::new(), key("holder"));
    let nonce = desk.nonce();
    let proof = || WalletJwt::proof(&own, PLAIN, &nonce, desk.now()).sign(&own);
    let first = desk.credential(&desk.token(Sample::Pid), &request(Sample::Pid, &[proof()]));
    assert_eq!(first.status, 200);
    let token = desk.token(Sample::Pid);
    refused(&desk, &token, &request(Sample::Pid, &[proof()]), "invalid_nonce");
    still_good(&desk, &token);
}

#[test]
fn missing_proofs_and_proofs_of_no_or_two_types_are_invalid_proof() {
    let (desk, own) = (Desk::new(), key("holder"));
    let token = desk.token(Sample::Pid);
    let id = Sample::Pid.id();
    let good = desk.proof(&own).sign(&own);
    for proofs in [
        json!({}),
        json!({ "jwt": [] }),
        json!({ "jwt": good }),
        json!({ "jwt": [1] }),
        json!({ "jwt": [good], "attestation": [good] }),
        json!({ "ldp_vp": [good] }),
        json!({ "attestation": [good] }),
        json!([good]),
    ] {
        let body = json!({ "credential_configuration_id": id, "proofs": proofs });
        refused(&desk, &token, &body, "invalid_proof");
    }
    refused(&desk, &token, &json!({ "credential_configuration_id": id }), "invalid_proof");
    still_good(&desk, &token);
}

#[test]
fn a_batch_over_the_bound_is_invalid_proof() {
    let desk = Desk::new();
    let token = desk.token(Sample::Pid);
    let proofs = |count: usize| -> Vec<String> {
        let keys = (0..count).map(|n| key(&n.to_string()));
        keys.map(|own| desk.proof(&own).sign(&own)).collect()
    };
    refused(&desk, &token, &request(Sample::Pid, &proofs(11)), "invalid_proof");
    let reply = desk.credential(&token, &request(Sample::Pid, &proofs(10)));
    assert_eq!(reply.body["credentials"].as_array().unwrap().len(), 10, "{reply:?}");
}

#[test]
fn two_proofs_of_one_key_are_invalid_proof() {
    let (desk, own) = (Desk::new(), key("holder"));
    let token = desk.token(Sample::Pid);
    let proofs = [desk.proof(&own).sign(&own), desk.proof(&own).sign(&own)];
    refused(&desk, &token, &request(Sample::Pid, &proofs), "invalid_proof");
    still_good(&desk, &token);
}

#[test]
fn one_bad_proof_of_a_batch_refuses_all_of_it() {
    let (desk, own) = (Desk::new(), key("holder"));
    let token = desk.token(Sample::Pid);
    let bad = desk.proof(&key("two")).sign(&own);
    let proofs = [desk.proof(&own).sign(&own), bad];
    refused(&desk, &token, &request(Sample::Pid, &proofs), "invalid_proof");
    still_good(&desk, &token);
}

#[test]
fn a_jwt_over_the_bound_and_one_with_a_member_twice_are_invalid_proof() {
    each_is("invalid_proof", |desk, own| {
        let twice = {
            let header =
                json!({ "typ": "openid4vci-proof+jwt", "alg": "ES256", "jwk": own.public_jwk() });
            let claims = format!(
                r#"{{"aud":"{PLAIN}","aud":"{PLAIN}","iat":{},"nonce":"{}"}}"#,
                desk.now() / 1000,
                desk.nonce()
            );
            idgate_testkit::jws::sign_jws(own, &header.to_string(), &claims)
        };
        vec![
            ("long", desk.proof(own).claim("x", "x".repeat(16 * 1024)).sign(own)),
            ("a member twice", twice),
            ("not a JWT", "abc".into()),
            ("four parts", format!("{}.a", desk.proof(own).sign(own))),
        ]
    });
}
