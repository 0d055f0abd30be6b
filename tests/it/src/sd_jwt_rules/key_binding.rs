//! Rules 21 to 28: the holder key and its proof; strict JSON in all that is signed.

use super::*;

#[test]
fn rule_21_cnf_holds_a_public_key() {
    let case = Case::new();
    refused(
        case.present(&case.credential().without("cnf").issue(&case.issuer)),
        Reason::HolderBindingMissing,
    );
    let with = |cnf: Value| case.present(&case.credential().plain("cnf", cnf).issue(&case.issuer));
    let jwk = case.holder.public_jwk();
    let changed = |member: &str, value: Value| {
        let mut jwk = jwk.clone();
        jwk[member] = value;
        json!({ "jwk": jwk })
    };
    let coordinate = |len: usize| json!(base64url(&vec![1; len]));
    for bad in [
        json!({}),
        json!({ "kid": "x" }),
        json!("x"),
        json!({ "jwk": "x" }),
        json!({ "jwk": case.holder.private_jwk() }),
        changed("d", json!("")),
        changed("kty", json!("RSA")),
        changed("crv", json!("P-384")),
        changed("crv", json!("secp256k1")),
        changed("x", coordinate(31)),
        changed("x", coordinate(33)),
        changed("y", json!(1)),
        changed("y", Value::Null),
        changed("x", coordinate(32)),
        changed("x", json!(base64url(&[0; 32]))),
    ] {
        refused(with(bad), Reason::HolderBindingInvalid);
    }
}

#[test]
fn rule_21_what_a_wallet_says_of_its_key_beside_it_does_not_matter() {
    let case = Case::new();
    for (member, value) in [
        ("key_ops", json!(["verify"])),
        ("key_ops", json!(["sign", "verify"])),
        ("use", json!("sig")),
        ("kid", Value::Null),
        ("alg", json!("ES256")),
        ("ext", json!(true)),
    ] {
        let mut jwk = case.holder.public_jwk();
        jwk[member] = value;
        let credential = case.credential().plain("cnf", json!({ "jwk": jwk }));
        accepted(case.present(&credential.issue(&case.issuer)));
    }
}

/// One rule for the keys of holders and of issuers.
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
fn rule_22_typ_of_the_proof_is_kb_jwt() {
    let case = Case::new();
    for bad in [json!("JWT"), json!("dc+sd-jwt"), json!(""), json!(1)] {
        let verdict = case.present_with(|kb| drop(kb.header.insert("typ".into(), bad)));
        refused(verdict, Reason::HolderBindingInvalid);
    }
    refused(case.present_with(|kb| drop(kb.header.remove("typ"))), Reason::HolderBindingInvalid);
}

#[test]
fn rule_22_alg_of_the_proof_fits_the_holder_key() {
    let case = Case::new();
    for alg in ["none", "HS256", "ES384", "es256", "EdDSA"] {
        let verdict = case.present_with(|kb| drop(kb.header.insert("alg".into(), json!(alg))));
        refused(verdict, Reason::AlgorithmNotAllowed);
    }
}

#[test]
fn rule_23_the_holder_key_signed_the_proof() {
    let case = Case::new();
    let thief = SigningKey::from_seed(Curve::P256, "thief");
    refused(case.present_with(|kb| kb.key = thief.clone()), Reason::HolderBindingInvalid);
    let in_header = case.present_with(|kb| {
        kb.header.insert("jwk".into(), thief.public_jwk());
        kb.key = thief.clone();
    });
    refused(in_header, Reason::HolderBindingInvalid);
    refused(case.present_with(|kb| kb.key = case.issuer.clone()), Reason::HolderBindingInvalid);
    let shown = Presentation::whole(&case.credential().issue(&case.issuer));
    let zeroed = jws::with_signature(&case.proof(&shown).sign(), |sig| vec![0; sig.len()]).unwrap();
    refused(case.verify(&present(&shown, Some(&zeroed))), Reason::HolderBindingInvalid);
}

#[test]
fn rule_24_iat_lies_in_the_session() {
    let case = Case::new();
    for good in [json!(NOW), json!(NOW - 60), json!(NOW + 60), json!(NOW as f64 + 0.25)] {
        accepted(case.present_with(|kb| kb.set("iat", good)));
    }
    for bad in [
        json!(NOW - 61),
        json!(NOW + 61),
        json!(0),
        json!(-1),
        json!(1e30),
        json!("now"),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("iat", bad)), Reason::KbJwtStale);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("iat"))), Reason::KbJwtStale);
}

#[test]
fn rule_25_aud_is_one_string_and_ours() {
    let case = Case::new();
    for bad in [
        json!([AUDIENCE]),
        json!(format!("{AUDIENCE}/")),
        json!(AUDIENCE.trim_end_matches('1')),
        json!(AUDIENCE.to_uppercase()),
        json!(AUDIENCE.trim_start_matches("redirect_uri:")),
        json!(""),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("aud", bad)), Reason::AudienceMismatch);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("aud"))), Reason::AudienceMismatch);
}

#[test]
fn rules_25_and_26_an_empty_expectation_is_met_by_nobody() {
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
        let expected = Expected::new(&case.trust, audience, nonce, now, now);
        let mut report = CredentialReport::default();
        let verdict = verify_sd_jwt_vc(&PROVIDERS[0], &text, &expected, &mut report);
        assert_eq!(verdict.err().map(|error| error.reason), Some(reason));
    }
}

#[test]
fn nothing_that_can_be_printed_holds_a_secret() {
    let case = Case::new();
    let now = UnixMillis::from_secs(NOW);
    let expected = Expected::new(&case.trust, AUDIENCE, NONCE, now, now);
    assert!(!format!("{expected:?}").contains(NONCE));
    let verified = accepted(case.present(&case.credential().issue(&case.issuer)));
    assert!(!format!("{verified:?}").contains("Erika"));
    let mut tape = idgate_core::codec::json::Tape::default();
    tape.parse(br#"{"a":"sentinel"}"#).unwrap();
    assert!(!format!("{tape:?}").contains("sentinel"));
}

#[test]
fn rule_26_nonce_is_ours() {
    let case = Case::new();
    for bad in [
        json!("other"),
        json!(""),
        json!(format!("{NONCE} ")),
        json!([NONCE]),
        json!(1),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("nonce", bad)), Reason::NonceMismatch);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("nonce"))), Reason::NonceMismatch);
}

#[test]
fn rule_27_sd_hash_covers_this_presentation() {
    let case = Case::new();
    let issued = case.credential().issue(&case.issuer);
    let all = Presentation::whole(&issued);
    let fewer = Presentation::choosing(&issued, |d| d.root_claim() == Some("given_name"));
    let proof = case.proof(&all).sign();
    refused(case.verify(&present(&fewer, Some(&proof))), Reason::SdHashMismatch);
    for bad in [json!(""), json!("x"), json!([all.sd_hash()]), Value::Null] {
        refused(case.present_with(|kb| kb.set("sd_hash", bad)), Reason::SdHashMismatch);
    }
    let without_tilde = HashAlg::Sha256.digest(all.sd_jwt().trim_end_matches('~'));
    refused(case.present_with(|kb| kb.set("sd_hash", without_tilde)), Reason::SdHashMismatch);
    refused(case.present_with(|kb| drop(kb.claims.remove("sd_hash"))), Reason::SdHashMismatch);
}

#[test]
fn rule_27_sd_hash_uses_the_hash_of_the_credential() {
    let case = Case::new();
    let shown = Presentation::whole(&case.credential().hash(HashAlg::Sha512).issue(&case.issuer));
    let mut proof = case.proof(&shown);
    accepted(case.verify(&present(&shown, Some(&proof.sign()))));
    proof.set("sd_hash", HashAlg::Sha256.digest(&shown.sd_jwt()));
    refused(case.verify(&present(&shown, Some(&proof.sign()))), Reason::SdHashMismatch);
}

#[test]
fn rule_28_exp_and_nbf_of_the_proof_are_checked() {
    let case = Case::new();
    accepted(case.present_with(|kb| kb.set("exp", NOW + 10)));
    accepted(case.present_with(|kb| kb.set("nbf", NOW)));
    for (name, bad) in [
        ("exp", json!(NOW - 60)),
        ("exp", json!("x")),
        ("exp", Value::Null),
        ("nbf", json!(NOW + 61)),
        ("nbf", json!("x")),
    ] {
        refused(case.present_with(|kb| kb.set(name, bad)), Reason::KbJwtStale);
    }
}

#[test]
fn strict_json_everywhere_that_is_signed() {
    let case = Case::new();
    let twice = case.unsigned(|u| {
        let text = Value::from(u.payload.clone()).to_string();
        u.payload_text = Some(text.replacen('{', "{\"vct\":\"x\",", 1));
    });
    malformed(case.present(&twice));
    let header = case.unsigned(|u| {
        u.header_text = Some(r#"{"alg":"none","alg":"ES256","typ":"dc+sd-jwt"}"#.into())
    });
    malformed(case.present(&header));
    let proof = case.present_with(|kb| {
        let text = Value::from(kb.claims.clone()).to_string();
        kb.claims_text = Some(text.replacen('{', "{\"nonce\":\"x\",", 1));
    });
    malformed(proof);
    let range = case.unsigned(|u| {
        let text = Value::from(u.payload.clone()).to_string();
        u.payload_text = Some(text.replacen('{', "{\"big\":1e400,", 1));
    });
    malformed(case.present(&range));
}
