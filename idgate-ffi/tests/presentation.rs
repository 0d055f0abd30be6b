//! One captured presentation through the C ABI, without a session.

#![allow(clippy::unwrap_used, clippy::panic, unsafe_code)]

mod shared;

use std::ptr;

use idgate_ffi::idgate_status::{self, *};
use idgate_ffi::*;
use idgate_it::mdoc_tamper::{Authority, ISSUER_ID, Scenario};
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{DeviceProof, MDL, MDL_NAME_SPACE, iso_18013_7, openid4vp};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{ISSUER, issue_sample};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Value, json};

use self::shared::{NONE, add, add_issuer, code_of, ok, taken};

const CLIENT_ID: &str = "did:web:gateway.example";
const NONCE: &str = "the nonce";
const RESPONSE_URI: &str = "https://gateway.example/r";
const WALLETS_NONCE: &str = "the wallet's nonce";

/// Verifies a valid mdoc after `change`, with an expectation after `known`. Returns status and text.
fn verify(
    change: impl FnOnce(&mut Scenario),
    known: impl FnOnce(&mut idgate_expected),
) -> (idgate_status, Value) {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let mut scenario = Scenario::answering(&authority, request(), SAMPLE_NOW_MS);
    change(&mut scenario);
    let roots = idgate_material::IDGATE_IACA_ROOTS;
    let trust = trusting(ISSUER_ID, roots, &authority.root.der);
    let told = ask_mdoc(trust, &scenario.text(), known);
    ok(idgate_trust_free(trust));
    told
}

fn request() -> AuthorizationRequest {
    AuthorizationRequest {
        client_id: CLIENT_ID.into(),
        response_uri: RESPONSE_URI.into(),
        nonce: NONCE.into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    }
}

fn expected(issuer_id: &str, claims: &[idgate_str]) -> idgate_expected {
    shared::expected(issuer_id, CLIENT_ID, NONCE, claims)
}

/// Asks for an mdoc in the profile `draft`.
fn ask_mdoc(
    trust: *const idgate_trust,
    presentation: &str,
    known: impl FnOnce(&mut idgate_expected),
) -> (idgate_status, Value) {
    let claims = ["family_name".into()];
    let mut expected = idgate_expected {
        format: idgate_format::IDGATE_FORMAT_MDOC as i32,
        profile: idgate_profile::IDGATE_PROFILE_DRAFT as i32,
        mode: idgate_mode::IDGATE_MODE_TEST as i32,
        doc_type: MDL.into(),
        name_space: MDL_NAME_SPACE.into(),
        response_uri: RESPONSE_URI.into(),
        ..expected(ISSUER_ID, &claims)
    };
    known(&mut expected);
    ask(trust, &expected, presentation)
}

/// A collection with one issuer and that material.
fn trusting(issuer_id: &str, material: idgate_material, file: &[u8]) -> *mut idgate_trust {
    let trust = shared::trust();
    replace(trust, issuer_id);
    add(trust, issuer_id, material, file, &[], SAMPLE_NOW_MS);
    trust
}

/// An issuer without material, which replaces the one before.
fn replace(trust: *mut idgate_trust, issuer_id: &str) {
    add_issuer(trust, &json!({ "issuer_id": issuer_id, "revocation": "off" }).to_string());
}

fn ask(
    trust: *const idgate_trust,
    expected: &idgate_expected,
    presentation: &str,
) -> (idgate_status, Value) {
    let mut error = ptr::null_mut();
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        let presentation = presentation.into();
        idgate_presentation_verify(
            trust,
            presentation,
            expected,
            SAMPLE_NOW_MS,
            &mut out,
            &mut error,
        )
    };
    match status {
        IDGATE_OK => (status, serde_json::from_slice(&taken(out)).unwrap()),
        _ => (status, code_of(error).into()),
    }
}

fn encryption_key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "an encryption key")
}

/// SHA-256 of the canonical JWK (RFC 7638).
fn thumbprint(jwk: &Value) -> Vec<u8> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str).unwrap();
    let (x, y) = (text("x"), text("y"));
    let json = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
    idgate_testkit::codec::HashAlg::Sha256.hash(json.as_bytes())
}

#[test]
fn an_mdoc_of_an_unencrypted_answer_is_verified() {
    let (status, verified) = verify(|_| {}, |_| {});
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("claims"), Some(&json!({ "family_name": "Mustermann" })));
    let (status, code) = verify(|_| {}, |expected| expected.nonce = "another".into());
    assert_eq!((status, code), (IDGATE_REFUSED, json!("device_auth_invalid")));
}

/// The default profile is that of OpenID4VP 1.0, and a page has no response_uri.
#[test]
fn the_device_signs_how_the_request_was_sent() {
    let plain = |s: &mut Scenario| {
        s.transcript = openid4vp(CLIENT_ID, NONCE, None, RESPONSE_URI);
    };
    let drafts = |s: &mut Scenario| {
        s.transcript = iso_18013_7(CLIENT_ID, NONCE, WALLETS_NONCE, RESPONSE_URI);
    };
    let apu = base64url(WALLETS_NONCE.as_bytes());
    assert_eq!(verify(plain, |expected| expected.profile = 0).0, IDGATE_OK);
    let in_1_0 = |expected: &mut idgate_expected| {
        (expected.profile, expected.apu) = (0, apu.as_str().into());
    };
    assert_eq!(verify(drafts, in_1_0).0, IDGATE_REFUSED);
    let from_page = |expected: &mut idgate_expected| {
        (expected.response_uri, expected.origin) = (NONE, "https://shop.example".into());
    };
    assert_eq!(verify(plain, from_page).0, IDGATE_REFUSED);
    let both = |expected: &mut idgate_expected| expected.origin = "https://shop.example".into();
    assert_eq!(verify(plain, both).0, IDGATE_MISUSE);
}

#[test]
fn an_sd_jwt_vc_is_verified() {
    let sample = issue_sample(SAMPLE_NOW_MS);
    let claims = ["given_name".to_owned()];
    let shown = Presentation::disclosing(&sample.credential, &claims);
    let proof = KbJwt::new(&sample.holder_key, &shown, &request(), SAMPLE_NOW_MS).sign();
    let text = present(&shown, Some(&proof));
    let jwk = sample.issuer_key.public_jwk().to_string();
    let trust = trusting(ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes());
    let names = ["given_name".into()];
    let (status, verified) = ask(trust, &expected(ISSUER, &names), &text);
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("claims"), Some(&json!({ "given_name": "Erika" })));
    assert_eq!(verified.get("holder_binding"), Some(&json!("kb_jwt")));
    let details = json!({ "credential": "off", "signer": "not_published" });
    assert_eq!(verified.get("revocation_details"), Some(&details), "a bare key publishes nothing");
    let other = idgate_expected { nonce: "another".into(), ..expected(ISSUER, &names) };
    assert_eq!(ask(trust, &other, &text), (IDGATE_REFUSED, json!("nonce_mismatch")));
    let later = idgate_expected { sent_at_ms: SAMPLE_NOW_MS + 600_000, ..expected(ISSUER, &names) };
    assert_eq!(ask(trust, &later, &text), (IDGATE_REFUSED, json!("kb_jwt_stale")));
    ok(idgate_trust_free(trust));
}

/// A refusal names the check and the rule, and says what to do.
#[test]
fn an_issuer_that_is_not_in_the_trust_is_a_refusal_with_a_hint() {
    let trust = shared::trust();
    let mut error = ptr::null_mut();
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        let expected = expected("https://nowhere.example", &[]);
        idgate_presentation_verify(
            trust,
            "x~".into(),
            &expected,
            SAMPLE_NOW_MS,
            &mut out,
            &mut error,
        )
    };
    let read = |part: extern "C" fn(*const idgate_error) -> idgate_str| shared::text(part(error));
    assert_eq!((status, idgate_error_kind(error)), (IDGATE_REFUSED, IDGATE_REFUSED));
    assert_eq!(
        (read(idgate_error_code), read(idgate_error_remedy)),
        ("untrusted_issuer".into(), "add_issuer".into())
    );
    assert!(read(idgate_error_hint).contains("add it"));
    assert!(!read(idgate_error_check).is_empty() && !read(idgate_error_clause).is_empty());
    ok(idgate_error_free(error));
    ok(idgate_trust_free(trust));
}

/// A claim may have its own path.
#[test]
fn a_claim_is_found_at_the_path_that_is_given() {
    let sample = issue_sample(SAMPLE_NOW_MS);
    let claims = ["age_equal_or_over".to_owned()];
    let shown = Presentation::disclosing(&sample.credential, &claims);
    let proof = KbJwt::new(&sample.holder_key, &shown, &request(), SAMPLE_NOW_MS).sign();
    let text = present(&shown, Some(&proof));
    let jwk = sample.issuer_key.public_jwk().to_string();
    let trust = trusting(ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes());
    let names = ["adult".into()];
    let paths = r#"{"adult":["age_equal_or_over","18"]}"#.into();
    let asked = idgate_expected { claim_paths: paths, ..expected(ISSUER, &names) };
    let (status, verified) = ask(trust, &asked, &text);
    assert_eq!((status, verified.get("claims")), (IDGATE_OK, Some(&json!({ "adult": true }))));
    let bad = idgate_expected { claim_paths: "[]".into(), ..expected(ISSUER, &names) };
    assert_eq!(ask(trust, &bad, &text).0, IDGATE_MISUSE);
    ok(idgate_trust_free(trust));
}

/// A root for status lists does not trust credentials.
#[test]
fn a_status_root_is_material_of_its_own() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let der = &authority.root.der;
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_STATUS_ROOTS, der);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    assert_eq!(ask_mdoc(trust, &text, |_| {}), (IDGATE_REFUSED, json!("untrusted_issuer")));
    add(trust, ISSUER_ID, idgate_material::IDGATE_IACA_ROOTS, der, &[], SAMPLE_NOW_MS);
    assert_eq!(ask_mdoc(trust, &text, |_| {}).0, IDGATE_OK);
    ok(idgate_trust_free(trust));
}

/// Roots for SD-JWT VCs do not trust mdocs.
#[test]
fn a_root_for_sd_jwts_is_material_of_its_own() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_X5C_ROOTS, &authority.root.der);
    let signer = idgate_material::IDGATE_X5C_SIGNERS;
    add(trust, ISSUER_ID, signer, &authority.signer.der, &[], SAMPLE_NOW_MS);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    assert_eq!(ask_mdoc(trust, &text, |_| {}), (IDGATE_REFUSED, json!("untrusted_issuer")));
    ok(idgate_trust_free(trust));
}

#[test]
fn a_document_signer_is_known_until_its_issuer_is_replaced() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_IACA_ROOTS, &authority.root.der);
    for _ in 0..2 {
        assert_eq!(ask_mdoc(trust, &text, |_| {}).0, IDGATE_OK);
    }
    replace(trust, ISSUER_ID);
    assert_eq!(ask_mdoc(trust, &text, |_| {}), (IDGATE_REFUSED, json!("untrusted_issuer")));
    ok(idgate_trust_free(trust));
}

#[test]
fn the_checks_are_listed_when_asked_for() {
    let (_, verified) = verify(|_| {}, |_| {});
    assert_eq!(verified.get("checks"), None);
    let (_, told) = verify(|_| {}, |expected| expected.checks = 1);
    let checks = told.get("checks").and_then(Value::as_array).unwrap();
    assert!(checks.len() > 10 && checks.iter().all(|one| one.get("passed") == Some(&json!(true))));
}

#[test]
fn the_handover_of_an_encrypted_answer_needs_its_key_and_apu() {
    let key = encryption_key().public_jwk();
    let jwk = key.to_string();
    let by_key = |s: &mut Scenario| {
        s.transcript = openid4vp(CLIENT_ID, NONCE, Some(&thumbprint(&key)), RESPONSE_URI);
    };
    let by_nonce = |s: &mut Scenario| {
        s.transcript = iso_18013_7(CLIENT_ID, NONCE, WALLETS_NONCE, RESPONSE_URI);
    };
    let apu = base64url(WALLETS_NONCE.as_bytes());
    let known = |has_key: bool, has_apu: bool| {
        let (jwk, apu) = (&jwk, &apu);
        move |expected: &mut idgate_expected| {
            expected.enc_key = if has_key { jwk.as_str().into() } else { NONE };
            expected.apu = if has_apu { apu.as_str().into() } else { NONE };
        }
    };
    assert_eq!(verify(by_key, known(true, false)).0, IDGATE_OK);
    assert_eq!(verify(by_nonce, known(false, true)).0, IDGATE_OK);
    assert_eq!(verify(by_nonce, known(true, true)).0, IDGATE_OK);
    assert_eq!(verify(by_key, known(false, false)).0, IDGATE_REFUSED);
    assert_eq!(verify(by_key, known(false, true)).0, IDGATE_REFUSED);
    assert_eq!(verify(by_nonce, known(false, false)).0, IDGATE_REFUSED);
    assert_eq!(verify(by_nonce, known(true, false)).0, IDGATE_REFUSED);
}

#[test]
fn enc_key_and_apu_must_be_valid() {
    let misused = |known: &dyn Fn(&mut idgate_expected)| {
        assert_eq!(verify(|_| {}, |expected| known(expected)).0, IDGATE_MISUSE);
    };
    let not_text = base64url(&[0xff]);
    let not_a_point = json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }).to_string();
    misused(&|expected| expected.apu = "?".into());
    misused(&|expected| expected.apu = not_text.as_str().into());
    misused(&|expected| expected.enc_key = r#"{"kty":"EC"}"#.into());
    misused(&|expected| expected.enc_key = not_a_point.as_str().into());
    misused(&|expected| expected.doc_type = NONE);
    misused(&|expected| expected.name_space = NONE);
    misused(&|expected| expected.response_uri = NONE);
    misused(&|expected| expected.format = 3);
    misused(&|expected| expected.profile = 4);
    misused(&|expected| expected.mode = 3);
    misused(&|expected| expected.alg = "none".into());
}

#[test]
fn a_device_mac_is_good_only_with_the_private_key() {
    let key = encryption_key();
    let public = key.public_jwk();
    let (jwk, private) = (public.to_string(), key.private_jwk().to_string());
    let by_mac = |s: &mut Scenario| {
        s.transcript = openid4vp(CLIENT_ID, NONCE, Some(&thumbprint(&public)), RESPONSE_URI);
        s.proof = DeviceProof::Mac(key.public_sec1());
    };
    let (status, verified) = verify(by_mac, |expected| expected.enc_key = private.as_str().into());
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("holder_binding"), Some(&json!("device_mac")));
    let details = json!({ "credential": "off", "signer": "off" });
    assert_eq!(verified.get("revocation_details"), Some(&details));
    assert_eq!(verified.get("issuing_country_unbound"), None);
    let with_public = |expected: &mut idgate_expected| expected.enc_key = jwk.as_str().into();
    assert_eq!(verify(by_mac, with_public).0, IDGATE_REFUSED);
}

/// The provider comes from the list, never from the credential.
#[test]
fn the_result_names_the_provider_of_a_trusted_list() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let scenario = Scenario::answering(&authority, request(), SAMPLE_NOW_MS);
    let services = [Kind::Mdl.issuance(&[&authority.root.der])];
    let (one, other) = (("Road Office", "NTRLU-1"), ("Harbour Office", "NTRLU-2"));
    let told = |providers: &[(&str, &str)]| {
        let signer = list_signer(SAMPLE_NOW_MS);
        let list = TrustedList::new(Kind::Mdl, SAMPLE_NOW_MS);
        let list = providers
            .iter()
            .fold(list, |list, (name, id)| list.with(provider(name, id, "LU", &services)));
        let trust = shared::trust();
        replace(trust, ISSUER_ID);
        let (kind, token) = (idgate_material::IDGATE_TRUSTED_LIST, list.sign(&signer));
        add(trust, ISSUER_ID, kind, token.as_bytes(), &signer.der, SAMPLE_NOW_MS);
        let (status, told) = ask_mdoc(trust, &scenario.text(), |_| {});
        assert_eq!(status, IDGATE_OK, "{told}");
        ok(idgate_trust_free(trust));
        told.get("provider").cloned()
    };
    let named = |(name, id)| json!({ "name": name, "identifier": id, "country": "LU" });
    let mut alone = named(one);
    let members = alone.as_object_mut().unwrap();
    members.extend([("list_type".into(), "mdl".into()), ("list_sequence".into(), 7.into())]);
    assert_eq!(told(&[one]), Some(alone));
    let both = json!({
        "candidates": [named(one), named(other)], "list_type": "mdl", "list_sequence": 7,
    });
    assert_eq!(told(&[one, other]), Some(both));
    let (_, told) = verify(|_| {}, |_| {});
    assert_eq!(told.get("provider"), None, "no list names the issuer");
}
