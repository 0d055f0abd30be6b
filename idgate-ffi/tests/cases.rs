//! The tamper table through the C ABI: the same verdicts and codes as in Rust.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, unsafe_code)]

mod shared;

use std::ptr;

use idgate_core::shell::base64url;
use idgate_ffi::idgate_status::{self, *};
use idgate_ffi::*;
use serde_json::{Value, json};

use self::shared::add;

#[test]
fn every_case_gives_its_outcome() {
    let cases: Vec<_> = idgate_it::cases::all().collect();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let outcome = outcome(case);
        if outcome != case["expected"] {
            wrong.push(format!("{}: {outcome}, expected {}", case["title"], case["expected"]));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(idgate_in_use(), 0, "something is not freed");
}

fn outcome(case: &Value) -> Value {
    let verifier = verifier(case["trust"].as_array().unwrap());
    let session = bytes(&case["session"]);
    let now = case["now_ms"].as_u64().unwrap();
    let mut restored = ptr::null_mut();
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        let (data, len) = (session.as_ptr(), session.len());
        idgate_session_restore(data, len, &mut restored, ptr::null_mut())
    };
    assert_eq!(status, IDGATE_OK);
    let outcome = match begin(case, verifier, restored, now) {
        Ok(verification) => decide(verification, now),
        Err((IDGATE_BAD_RESPONSE, error)) => json!({ "error": code_of(error) }),
        Err((other, _)) => panic!("{}: {other:?}", case["title"]),
    };
    assert_eq!(idgate_session_free(restored), IDGATE_OK);
    assert_eq!(idgate_verifier_free(verifier), IDGATE_OK);
    outcome
}

type Begun = Result<*mut idgate_verification, (idgate_status, *mut idgate_error)>;

/// Through a browser, or posted to an offer.
fn begin(
    case: &Value,
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    now: u64,
) -> Begun {
    let body = bytes(&case["body"]);
    let offer = case["offer"].as_str();
    let (mut begun, mut error) = (ptr::null_mut(), ptr::null_mut());
    let (data, len) = (body.as_ptr(), body.len());
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        match case["content_type"].as_str() {
            None => {
                assert_eq!(case["dc_api"], true);
                idgate_dc_api_verification_begin(
                    verifier, session, data, len, now, &mut begun, &mut error,
                )
            }
            Some(content_type) => idgate_offer_verification_begin(
                verifier,
                session,
                offer.map_or(ptr::null(), |offer| offer.as_ptr().cast()),
                offer.map_or(0, str::len),
                content_type.as_ptr().cast(),
                content_type.len(),
                data,
                len,
                now,
                &mut begun,
                &mut error,
            ),
        }
    };
    if status == IDGATE_OK { Ok(begun) } else { Err((status, error)) }
}

fn decide(verification: *mut idgate_verification, now: u64) -> Value {
    loop {
        let mut step = std::mem::MaybeUninit::uninit();
        // SAFETY: `step` has room for one, and is written with OK.
        let step = unsafe {
            let status = idgate_verification_step(verification, step.as_mut_ptr(), ptr::null_mut());
            assert_eq!(status, IDGATE_OK);
            step.assume_init()
        };
        let told = text(step.json);
        idgate_bytes_free(step.transition.effects);
        if step.kind == idgate_step_kind::IDGATE_STEP_NEED {
            let needs = told["needs"].as_array().unwrap().len();
            (0..needs).for_each(|need| unavailable(verification, need, now));
            idgate_session_free(step.transition.session);
            continue;
        }
        let claims = claims(step.transition.session, now);
        idgate_session_free(step.transition.session);
        idgate_verification_free(verification);
        return json!({ "status": told["status"], "reason": told["reason"], "claims": claims });
    }
}

fn unavailable(verification: *mut idgate_verification, need: usize, now: u64) {
    // SAFETY: no bytes are given.
    let status = unsafe {
        idgate_verification_supply(verification, need, true, ptr::null(), 0, now, ptr::null_mut())
    };
    assert_eq!(status, IDGATE_OK);
}

fn claims(session: *const idgate_session, now: u64) -> Value {
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: `out` is a live value.
    match unsafe { idgate_session_result(session, now, &mut out, ptr::null_mut()) } {
        IDGATE_OK => text(out)["claims"].clone(),
        status => {
            assert_eq!(status, IDGATE_NOTHING);
            Value::Null
        }
    }
}

fn verifier(trust: &[Value]) -> *mut idgate_verifier {
    let (mut collected, mut verifier) = (ptr::null_mut(), ptr::null_mut());
    let base_url = "https://gateway.example";
    let ok = |status: idgate_status| assert_eq!(status, IDGATE_OK);
    // SAFETY: every pointer is to a live value of its length.
    unsafe {
        ok(idgate_trust_new(&mut collected, ptr::null_mut()));
        trust.iter().for_each(|entry| add_entry(collected, entry.clone()));
        ok(idgate_verifier_new_inline(
            base_url.as_ptr().cast(),
            base_url.len(),
            collected,
            1,
            &mut verifier,
            ptr::null_mut(),
        ));
    }
    ok(idgate_trust_free(collected));
    verifier
}

/// An entry with its material.
fn add_entry(trust: *mut idgate_trust, mut entry: Value) {
    let issuer_id = entry["issuer_id"].as_str().unwrap().to_owned();
    let mut material = |name| entry.as_object_mut().unwrap().remove(name);
    let (jwks, roots, sd_jwt_roots) =
        (material("jwks"), material("roots"), material("sd_jwt_roots"));
    let json = entry.to_string();
    // SAFETY: a live text of its length.
    let added =
        unsafe { idgate_trust_add_entry(trust, json.as_ptr().cast(), json.len(), ptr::null_mut()) };
    assert_eq!(added, IDGATE_OK);
    if let Some(jwks) = jwks.filter(|jwks| jwks != &json!([])) {
        let set = json!({ "keys": jwks }).to_string();
        add(trust, &issuer_id, idgate_material::IDGATE_JWK, set.as_bytes(), &[], 0);
    }
    for root in roots.iter().filter_map(Value::as_array).flatten() {
        add(trust, &issuer_id, idgate_material::IDGATE_ROOT, &bytes(root), &[], 0);
    }
    for root in sd_jwt_roots.iter().filter_map(Value::as_array).flatten() {
        add(trust, &issuer_id, idgate_material::IDGATE_SD_JWT_ROOT, &bytes(root), &[], 0);
    }
}

fn code_of(error: *mut idgate_error) -> String {
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    assert_eq!(idgate_error_code(error, &mut out), IDGATE_OK);
    // SAFETY: given by the library a moment ago.
    let code = unsafe { std::slice::from_raw_parts(out.ptr, out.len) }.to_vec();
    idgate_bytes_free(out);
    idgate_error_free(error);
    String::from_utf8(code).unwrap()
}

fn text(given: idgate_bytes) -> Value {
    // SAFETY: given by the library a moment ago, and freed only here.
    let value = unsafe { std::slice::from_raw_parts(given.ptr, given.len) };
    let value = serde_json::from_slice(value).unwrap();
    assert_eq!(idgate_bytes_free(given), IDGATE_OK);
    value
}

fn bytes(value: &Value) -> Vec<u8> {
    base64url::decode(value.as_str().unwrap()).unwrap()
}
