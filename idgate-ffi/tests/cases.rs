//! The tamper table through the C ABI: the same decisions and codes as in Rust.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, unsafe_code)]

mod shared;

use std::ptr;

use idgate_core::shell::base64url;
use idgate_ffi::idgate_profile::IDGATE_PROFILE_DRAFT;
use idgate_ffi::idgate_status::{self, *};
use idgate_ffi::*;
use serde_json::{Value, json};

use self::shared::{add, add_issuer, code_of, ok, taken, text, trust};

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
    ok(unsafe { idgate_session_restore((&*session).into(), &mut restored, ptr::null_mut()) });
    let outcome = match begin(case, verifier, restored, now) {
        Ok(verification) => decide(verification, now),
        Err((IDGATE_BAD_RESPONSE, error)) => json!({ "error": code_of(error) }),
        Err((other, _)) => panic!("{}: {other:?}", case["title"]),
    };
    ok(idgate_session_free(restored));
    ok(idgate_verifier_free(verifier));
    outcome
}

type Begun = Result<*mut idgate_verification, (idgate_status, *mut idgate_error)>;

/// An answer through a browser, or one posted to an offer.
fn begin(
    case: &Value,
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    now: u64,
) -> Begun {
    let (body, own) = (bytes(&case["body"]), handle_of(session, now));
    let to = case["offer"].as_str().unwrap_or(&own);
    let (mut begun, mut error) = (ptr::null_mut(), ptr::null_mut());
    let size = size_of::<idgate_answer>();
    let body = (&*body).into();
    let answer = match case["content_type"].as_str() {
        Some(content_type) => {
            let (to, content_type) = (to.into(), content_type.into());
            idgate_answer { size, to, content_type, body, from_page: 0 }
        }
        None => {
            assert_eq!(case["dc_api"], true);
            let none = idgate_str::NONE;
            idgate_answer { size, to: none, content_type: none, body, from_page: 1 }
        }
    };
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        idgate_verification_begin(verifier, session, &answer, now, &mut begun, &mut error)
    };
    if status == IDGATE_OK { Ok(begun) } else { Err((status, error)) }
}

/// The last segment of the session's own paths.
fn handle_of(session: *const idgate_session, now: u64) -> String {
    let mut info = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: live values.
    ok(unsafe { idgate_session_info(session, now, &mut info, ptr::null_mut()) });
    let info: Value = serde_json::from_slice(&taken(info)).unwrap();
    info["session_id"].as_str().unwrap().to_owned()
}

fn decide(verification: *mut idgate_verification, now: u64) -> Value {
    loop {
        let mut step = ptr::null_mut();
        // SAFETY: a place of its own.
        ok(unsafe { idgate_verification_step(verification, &mut step, ptr::null_mut()) });
        let told: Value = serde_json::from_str(&text(idgate_step_json(step))).unwrap();
        if idgate_step_kind(step) == idgate_kind::IDGATE_STEP_NEED {
            let needs = told["needs"].as_array().unwrap().len();
            (0..needs).for_each(|need| unavailable(verification, need, now));
            ok(idgate_step_free(step));
            continue;
        }
        let claims = claims(step, now);
        ok(idgate_step_free(step));
        ok(idgate_verification_free(verification));
        return json!({ "status": told["status"], "reason": told["reason"], "claims": claims });
    }
}

fn unavailable(verification: *mut idgate_verification, need: usize, now: u64) {
    // SAFETY: no bytes are given.
    ok(unsafe {
        idgate_verification_supply(verification, need, idgate_str::NONE, now, ptr::null_mut())
    });
}

fn claims(step: *const idgate_step, now: u64) -> Value {
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    let mut next = std::mem::MaybeUninit::uninit();
    // SAFETY: `next` has room for one, and is written with OK.
    let next: idgate_transition = unsafe {
        ok(idgate_step_transition(step, next.as_mut_ptr(), ptr::null_mut()));
        next.assume_init()
    };
    let (backend, none) = (idgate_reader::IDGATE_READER_BACKEND as i32, idgate_str::NONE);
    // SAFETY: `out` is a live value.
    let status = unsafe {
        idgate_session_result(next.session, backend, none, now, &mut out, ptr::null_mut())
    };
    ok(idgate_session_free(next.session));
    ok(idgate_bytes_free(next.effects));
    match status {
        IDGATE_OK => {
            let told: Value = serde_json::from_slice(&taken(out)).unwrap();
            told["claims"].clone()
        }
        status => {
            assert_eq!(status, IDGATE_NOTHING);
            Value::Null
        }
    }
}

fn verifier(entries: &[Value]) -> *mut idgate_verifier {
    let collected = trust();
    entries.iter().for_each(|entry| add_entry(collected, entry.clone()));
    let draft = IDGATE_PROFILE_DRAFT as i32;
    let verifier = shared::verifier("https://gateway.example", draft, collected);
    ok(idgate_trust_free(collected));
    verifier
}

/// An issuer with its material.
fn add_entry(trust: *mut idgate_trust, mut entry: Value) {
    let issuer_id = entry["issuer_id"].as_str().unwrap().to_owned();
    let mut material = |name| entry.as_object_mut().unwrap().remove(name);
    let (jwks, roots, sd_jwt_roots) =
        (material("jwks"), material("roots"), material("sd_jwt_roots"));
    add_issuer(trust, &entry.to_string());
    if let Some(jwks) = jwks.filter(|jwks| jwks != &json!([])) {
        let set = json!({ "keys": jwks }).to_string();
        add(trust, &issuer_id, idgate_material::IDGATE_JWK, set.as_bytes(), &[], 0);
    }
    for (roots, material) in [
        (roots, idgate_material::IDGATE_IACA_ROOTS),
        (sd_jwt_roots, idgate_material::IDGATE_X5C_ROOTS),
    ] {
        for root in roots.iter().filter_map(Value::as_array).flatten() {
            add(trust, &issuer_id, material, &bytes(root), &[], 0);
        }
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    base64url::decode(value.as_str().unwrap()).unwrap()
}
