//! One captured presentation through the C ABI, outside a session.

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

use self::shared::add;

const CLIENT_ID: &str = "did:web:gateway.example";
const NONCE: &str = "the nonce";
const RESPONSE_URI: &str = "https://gateway.example/r";
const WALLETS_NONCE: &str = "the wallet's nonce";

/// Verifies what `change` made of a good mdoc; gives status and text.
fn verify(change: impl FnOnce(&mut Scenario), known: Value) -> (idgate_status, Value) {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let mut scenario = Scenario::answering(&authority, request(), SAMPLE_NOW_MS);
    change(&mut scenario);
    call(&authority, &expected_mdoc(known), &scenario.text())
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

fn expected_mdoc(known: Value) -> String {
    let mut expected = json!({
        "format": "mso_mdoc",
        "issuer_id": ISSUER_ID,
        "client_id": CLIENT_ID,
        "nonce": NONCE,
        "response_uri": RESPONSE_URI,
        "doc_type": MDL,
        "namespace": MDL_NAME_SPACE,
        "claims": ["family_name"],
        "livemode": false,
    });
    let members = expected.as_object_mut().unwrap();
    members.extend(known.as_object().cloned().unwrap_or_default());
    expected.to_string()
}

fn call(authority: &Authority, expected: &str, presentation: &str) -> (idgate_status, Value) {
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_ROOT, &authority.root.der);
    let told = ask(trust, expected, presentation);
    idgate_trust_free(trust);
    told
}

/// A collection with one entry and that material.
fn trusting(issuer_id: &str, material: idgate_material, file: &[u8]) -> *mut idgate_trust {
    let mut trust = ptr::null_mut();
    // SAFETY: the pointer is to a live one.
    unsafe { idgate_trust_new(&mut trust, ptr::null_mut()) };
    replace(trust, issuer_id);
    add(trust, issuer_id, material, file, &[], SAMPLE_NOW_MS);
    trust
}

/// An entry without material, in place of what was there.
fn replace(trust: *mut idgate_trust, issuer_id: &str) {
    let entry = json!({ "issuer_id": issuer_id, "revocation": "off" }).to_string();
    // SAFETY: a live text of its length.
    let added = unsafe {
        idgate_trust_add_entry(trust, entry.as_ptr().cast(), entry.len(), ptr::null_mut())
    };
    assert_eq!(added, IDGATE_OK);
}

fn ask(trust: *mut idgate_trust, expected: &str, presentation: &str) -> (idgate_status, Value) {
    let mut error = ptr::null_mut();
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        idgate_verify_presentation(
            trust,
            expected.as_ptr().cast(),
            expected.len(),
            presentation.as_ptr().cast(),
            presentation.len(),
            SAMPLE_NOW_MS,
            &mut out,
            &mut error,
        )
    };
    if status == IDGATE_OK {
        return (status, serde_json::from_slice(&taken(out)).unwrap());
    }
    idgate_error_code(error, &mut out);
    idgate_error_free(error);
    (status, String::from_utf8(taken(out)).unwrap().into())
}

fn taken(given: idgate_bytes) -> Vec<u8> {
    // SAFETY: given by the library a moment ago, and freed only here.
    let bytes = unsafe { std::slice::from_raw_parts(given.ptr, given.len) }.to_vec();
    assert_eq!(idgate_bytes_free(given), IDGATE_OK);
    bytes
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
    let (status, verified) = verify(|_| {}, json!({}));
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("claims"), Some(&json!({ "family_name": "Mustermann" })));
    let (status, code) = verify(|_| {}, json!({ "nonce": "another" }));
    assert_eq!((status, code), (IDGATE_REFUSED, json!("device_auth_invalid")));
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
    let expecting = |nonce: &str| {
        json!({
            "format": "vc+sd-jwt",
            "issuer_id": ISSUER,
            "client_id": CLIENT_ID,
            "nonce": nonce,
            "claims": claims,
        })
        .to_string()
    };
    let (status, verified) = ask(trust, &expecting(NONCE), &text);
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("claims"), Some(&json!({ "given_name": "Erika" })));
    assert_eq!(verified.get("holder_binding"), Some(&json!("kb_jwt")));
    let details = json!({ "credential": "off", "signer": "not_published" });
    assert_eq!(verified.get("revocation_details"), Some(&details), "a bare key publishes nothing");
    let refused = (IDGATE_REFUSED, json!("nonce_mismatch"));
    assert_eq!(ask(trust, &expecting("another"), &text), refused);
    idgate_trust_free(trust);
}

/// A root for status lists vouches for no credential.
#[test]
fn a_status_root_is_material_of_its_own() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let der = &authority.root.der;
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_STATUS_ROOT, der);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    let expected = expected_mdoc(json!({}));
    assert_eq!(ask(trust, &expected, &text), (IDGATE_REFUSED, json!("untrusted_issuer")));
    add(trust, ISSUER_ID, idgate_material::IDGATE_ROOT, der, &[], SAMPLE_NOW_MS);
    assert_eq!(ask(trust, &expected, &text).0, IDGATE_OK);
    idgate_trust_free(trust);
}

/// Roots for SD-JWT VCs vouch for no mdoc.
#[test]
fn a_root_for_sd_jwts_is_material_of_its_own() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_SD_JWT_ROOT, &authority.root.der);
    let signer = idgate_material::IDGATE_SD_JWT_SIGNER;
    add(trust, ISSUER_ID, signer, &authority.signer.der, &[], SAMPLE_NOW_MS);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    let expected = expected_mdoc(json!({}));
    assert_eq!(ask(trust, &expected, &text), (IDGATE_REFUSED, json!("untrusted_issuer")));
    idgate_trust_free(trust);
}

#[test]
fn a_document_signer_is_known_until_its_entry_is_replaced() {
    let authority = Authority::new(SAMPLE_NOW_MS);
    let text = Scenario::answering(&authority, request(), SAMPLE_NOW_MS).text();
    let trust = trusting(ISSUER_ID, idgate_material::IDGATE_ROOT, &authority.root.der);
    for _ in 0..2 {
        assert_eq!(ask(trust, &expected_mdoc(json!({})), &text).0, IDGATE_OK);
    }
    replace(trust, ISSUER_ID);
    let refused = (IDGATE_REFUSED, json!("untrusted_issuer"));
    assert_eq!(ask(trust, &expected_mdoc(json!({})), &text), refused);
    idgate_trust_free(trust);
}

#[test]
fn what_was_checked_is_told_when_asked_for() {
    let (_, verified) = verify(|_| {}, json!({}));
    assert_eq!(verified.get("checks"), None);
    let (_, told) = verify(|_| {}, json!({ "checks": true }));
    let checks = told.get("checks").and_then(Value::as_array).unwrap();
    assert!(checks.len() > 10 && checks.iter().all(|one| one.get("passed") == Some(&json!(true))));
}

#[test]
fn the_handover_of_an_encrypted_answer_needs_what_is_known_of_its_encryption() {
    let jwk = encryption_key().public_jwk();
    let by_key = |s: &mut Scenario| {
        s.transcript = openid4vp(CLIENT_ID, NONCE, Some(&thumbprint(&jwk)), RESPONSE_URI);
    };
    let by_nonce = |s: &mut Scenario| {
        s.transcript = iso_18013_7(CLIENT_ID, NONCE, WALLETS_NONCE, RESPONSE_URI);
    };
    let apu = base64url(WALLETS_NONCE.as_bytes());
    assert_eq!(verify(by_key, json!({ "enc_key": jwk })).0, IDGATE_OK);
    assert_eq!(verify(by_nonce, json!({ "apu": apu })).0, IDGATE_OK);
    assert_eq!(verify(by_nonce, json!({ "enc_key": jwk, "apu": apu })).0, IDGATE_OK);
    for known in [json!({}), json!({ "apu": apu })] {
        assert_eq!(verify(by_key, known).0, IDGATE_REFUSED);
    }
    for known in [json!({}), json!({ "enc_key": jwk })] {
        assert_eq!(verify(by_nonce, known).0, IDGATE_REFUSED);
    }
}

#[test]
fn what_is_said_of_the_encryption_must_be_usable() {
    let jwk = encryption_key().public_jwk();
    let mut other_curve = jwk.clone();
    other_curve.as_object_mut().unwrap().insert("crv".into(), "P-384".into());
    for known in [
        json!({ "apu": "?" }),
        json!({ "apu": base64url(&[0xff]) }),
        json!({ "enc_key": other_curve }),
        json!({ "enc_key": { "kty": "EC" } }),
        json!({ "unknown": 1 }),
        json!({ "doc_type": null }),
    ] {
        assert_eq!(verify(|_| {}, known.clone()).0, IDGATE_MISUSE, "{known}");
    }
}

#[test]
fn a_device_mac_is_good_only_with_the_private_key() {
    let key = encryption_key();
    let jwk = key.public_jwk();
    let private = key.private_jwk();
    let by_mac = |s: &mut Scenario| {
        s.transcript = openid4vp(CLIENT_ID, NONCE, Some(&thumbprint(&jwk)), RESPONSE_URI);
        s.proof = DeviceProof::Mac(key.public_sec1());
    };
    let (status, verified) = verify(by_mac, json!({ "enc_key": private }));
    assert_eq!(status, IDGATE_OK, "{verified}");
    assert_eq!(verified.get("holder_binding"), Some(&json!("device_mac")));
    let details = json!({ "credential": "off", "signer": "off" });
    assert_eq!(verified.get("revocation_details"), Some(&details));
    assert_eq!(verified.get("issuing_country_unbound"), None);
    assert_eq!(verify(by_mac, json!({ "enc_key": jwk })).0, IDGATE_REFUSED);
}

/// It comes from the list, never from the credential.
#[test]
fn whom_a_trusted_list_says_that_the_issuer_is_is_told() {
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
        let mut trust = ptr::null_mut();
        // SAFETY: the pointer is to a live one.
        unsafe { idgate_trust_new(&mut trust, ptr::null_mut()) };
        replace(trust, ISSUER_ID);
        let (kind, token) = (idgate_material::IDGATE_TRUSTED_LIST, list.sign(&signer));
        add(trust, ISSUER_ID, kind, token.as_bytes(), &signer.der, SAMPLE_NOW_MS);
        let (status, told) = ask(trust, &expected_mdoc(json!({})), &scenario.text());
        assert_eq!(status, IDGATE_OK, "{told}");
        idgate_trust_free(trust);
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
    let (_, told) = verify(|_| {}, json!({}));
    assert_eq!(told.get("provider"), None, "the operator alone vouches");
}
