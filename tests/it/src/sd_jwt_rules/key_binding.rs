//! Rules 21 to 26: keys that prove nothing, and expectations that cannot be met.

use super::*;

/// The same rule applies to the keys of holders and of issuers.
#[test]
fn rule_21_a_key_for_another_use_proves_nothing() {
    for (member, value) in [
        ("use", json!("enc")),
        ("use", Value::Null),
        ("key_ops", json!(["sign"])),
        ("key_ops", json!(["deriveKey", "deriveBits"])),
        ("key_ops", json!([])),
        ("key_ops", json!("verify")),
        ("alg", json!("ES384")),
        ("alg", json!("ECDH-ES")),
    ] {
        let case = Case::new();
        let with = |key: &SigningKey| {
            let mut jwk = key.public_jwk();
            jwk[member] = value.clone();
            jwk
        };
        let issuers = Jwk::parse(with(&case.issuer).to_string().as_bytes());
        assert!(issuers.is_err(), "{member} {value}");
        let credential = case.credential().plain("cnf", json!({ "jwk": with(&case.holder) }));
        let verdict = case.present(&credential.issue(&case.issuer));
        assert_eq!(verdict.err(), Some(Reason::HolderBindingInvalid), "{member} {value}");
    }
}

#[test]
fn rules_25_and_26_an_empty_expected_value_is_never_met() {
    let case = Case::new();
    let shown = Presentation::whole(&case.credential().issue(&case.issuer));
    let now = UnixMillis::from_secs(NOW);
    for (audience, nonce, reason) in
        [("", NONCE, Reason::AudienceMismatch), (AUDIENCE, "", Reason::NonceMismatch)]
    {
        let mut proof = case.proof(&shown);
        proof.set("aud", audience);
        proof.set("nonce", nonce);
        let text = present(&shown, Some(&proof.sign()));
        let expected = ExpectedSdJwtVc::new(&case.trust, audience, nonce, now, now);
        let mut report = CredentialReport::default();
        let verdict = verify_sd_jwt_vc(&PROVIDERS[0], &text, &expected, &mut report);
        assert_eq!(verdict.err().map(|error| error.reason), Some(reason));
    }
}

#[test]
fn debug_output_has_no_secrets() {
    let case = Case::new();
    let now = UnixMillis::from_secs(NOW);
    let expected = ExpectedSdJwtVc::new(&case.trust, AUDIENCE, NONCE, now, now);
    assert!(!format!("{expected:?}").contains(NONCE));
    let verified = accepted(case.present(&case.credential().issue(&case.issuer)));
    assert!(!format!("{verified:?}").contains("Erika"));
    let mut tape = idgate_core::shell::json::Tape::default();
    tape.parse(br#"{"a":"sentinel"}"#).unwrap();
    assert!(!format!("{tape:?}").contains("sentinel"));
}
