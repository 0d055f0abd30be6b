//! Requests that break a rule, and sessions without a result.

use std::mem::MaybeUninit;
use std::ptr;

use idgate_ffi::idgate_status::IDGATE_OK;
use idgate_ffi::*;
use idgate_testkit::samples::ISSUER;
use serde_json::{Value, json};

use super::shared::ok;
use super::verifiers::verifier;
use super::{NONE, NOW, Told, bytes};

pub(super) fn sessions(told: &mut Told) {
    let verifiers = [verifier(&[2]), verifier(&[1]), verifier(&[2, 1])];
    let mut made = MaybeUninit::uninit();
    let (mut restored, mut out) = (ptr::null_mut(), bytes());
    let test = new_session(2);
    for verifier in verifiers {
        for request in wrong_requests() {
            // SAFETY: live texts, and places of their own.
            let status = unsafe {
                let request = request.as_str().into();
                let out = made.as_mut_ptr();
                idgate_session_create(verifier, request, &test, NOW, out, ptr::null_mut())
            };
            // A rule of one profile need not hold in another.
            if status == IDGATE_OK {
                // SAFETY: written with OK.
                freed(unsafe { made.assume_init() });
                continue;
            }
            // SAFETY: as above.
            told.of(|e| unsafe {
                let request = request.as_str().into();
                idgate_session_create(verifier, request, &test, NOW, made.as_mut_ptr(), e)
            });
        }
    }
    let [verifier, ..] = verifiers;
    let good = good_request().to_string();
    let byte: &[u8] = &[0xff];
    let wrong = [
        idgate_new_session { mode: 0, ..test },
        idgate_new_session { mode: 3, ..test },
        idgate_new_session { strict: 2, ..test },
        idgate_new_session { size: 4, ..test },
        idgate_new_session { tenant: byte.into(), ..test },
        idgate_new_session { registration: "".into(), ..test },
        idgate_new_session { registration: "a.b.c".into(), ..test },
    ];
    // SAFETY: live texts, and places of their own.
    unsafe {
        for new in wrong {
            let request = good.as_str().into();
            told.of(|e| idgate_session_create(verifier, request, &new, NOW, made.as_mut_ptr(), e));
            told.of(|e| idgate_registration_compare(verifier, request, &new, NOW, &mut out, e));
        }
        told.of(|e| {
            let odd = ptr::without_provenance_mut(3);
            idgate_session_create(verifier, good.as_str().into(), &test, NOW, odd, e)
        });
        for snapshot in ["", "x", "{}", "{\"version\":99}"] {
            told.of(|e| idgate_session_restore(snapshot.into(), &mut restored, e));
        }
        let out = made.as_mut_ptr();
        let request = good.as_str().into();
        ok(idgate_session_create(verifier, request, &test, NOW, out, ptr::null_mut()));
    }
    // SAFETY: written with OK.
    let made: idgate_transition = unsafe { made.assume_init() };
    results(told, made.session);
    freed(made);
    verifiers.into_iter().for_each(|verifier| ok(idgate_verifier_free(verifier)));
}

/// An open session has no result, and nothing is due.
fn results(told: &mut Told, session: *const idgate_session) {
    let (mut out, mut restored, mut next) = (bytes(), ptr::null_mut(), MaybeUninit::uninit());
    // SAFETY: live values, and places of their own.
    unsafe {
        for (reader, code) in
            [(0, NONE), (1, NONE), (1, "x".into()), (2, NONE), (2, "x".into()), (3, NONE)]
        {
            told.of(|e| idgate_session_result(session, reader, code, NOW, &mut out, e));
        }
        told.of(|e| idgate_session_result_snapshot(session, NOW, &mut out, e));
        told.of(|e| idgate_session_restore_result(session, "x".into(), &mut restored, e));
        told.of(|e| idgate_session_due(session, NOW, next.as_mut_ptr(), e));
        told.of(|e| idgate_session_released(session, NOW, next.as_mut_ptr(), e));
        told.of(|e| idgate_session_snapshot(session, ptr::null_mut(), e));
    }
}

/// A valid request with one additional or changed member.
fn wrong_requests() -> Vec<String> {
    let mut wrong: Vec<String> = [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "7",
        "x",
        "{\"credentials\":[]}",
        "{\"credentials\":[7]}",
        "{\"a\":1,\"a\":2}",
    ]
    .map(String::from)
    .into();
    for (member, value) in [
        ("ttl_ms", json!(1)),
        ("ttl_ms", json!("1")),
        ("ttl_ms", json!(86_400_001)),
        ("redirect_uri", json!("javascript:alert(1)")),
        ("redirect_uri", json!(7)),
        ("redirect_uri", json!("a".repeat(3000))),
        ("profiles", json!(["haip"])),
        ("profiles", json!(["2.0"])),
        ("profiles", json!([])),
        ("profiles", json!("1.0")),
        ("unknown", json!(1)),
        ("same_subject_groups", json!([["pid"]])),
        ("same_subject_groups", json!([["a", "b"]])),
        ("credential_sets", json!([{}])),
        ("credential_sets", json!([{ "options": [["x"]] }])),
        ("dc_api", json!({})),
        ("dc_api", json!({ "origins": ["x"] })),
        ("same_device", json!(1)),
        ("distinct_credentials", json!("yes")),
        ("on_unknown_revocation", json!("accept")),
        ("transaction_data", json!([{}])),
        ("transaction_data", json!(7)),
        ("issuer_id", json!(ISSUER)),
    ] {
        let mut request = good_request();
        request.as_object_mut().unwrap().insert(member.into(), value);
        wrong.push(request.to_string());
    }
    for (member, value) in [
        ("id", json!("a b")),
        ("id", json!(7)),
        ("format", json!("sd-jwt")),
        ("format", json!(null)),
        ("format", json!("mso_mdoc")),
        ("issuer_id", json!("https://nowhere.example")),
        ("issuer_id", json!("nothing")),
        ("issuer_id", json!(7)),
        ("claims", json!([])),
        ("claims", json!("given_name")),
        ("claims", json!(["<script>"])),
        ("claims", json!(["a", "a"])),
        ("claims", json!([7])),
        ("claim_paths", json!({ "x": ["y"] })),
        ("claim_paths", json!([])),
        ("claim_filters", json!({ "x": {} })),
        ("claim_filters", json!({ "given_name": { "pattern": "(" } })),
        ("claim_filters", json!(7)),
        ("alg", json!("none")),
        ("doc_type", json!("x")),
        ("namespace", json!("x")),
        ("vct", json!("x")),
        ("unknown", json!(1)),
    ] {
        let mut request = good_request();
        let credentials = request.as_object_mut().unwrap().get_mut("credentials").unwrap();
        let credential = credentials.as_array_mut().unwrap().first_mut().unwrap();
        credential.as_object_mut().unwrap().insert(member.into(), value);
        wrong.push(request.to_string());
    }
    wrong
}

pub(super) fn new_session(mode: i32) -> idgate_new_session {
    let size = size_of::<idgate_new_session>();
    idgate_new_session { size, mode, strict: 0, tenant: NONE, registration: NONE }
}

pub(super) fn good_request() -> Value {
    json!({ "credentials": [
        { "id": "pid", "format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
    ] })
}

pub(super) fn freed(transition: idgate_transition) {
    ok(idgate_session_free(transition.session));
    ok(idgate_bytes_free(transition.effects));
}
