//! Status lists and CRLs by the library's own fetcher, through the C ABI and over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, unsafe_code)]

mod shared;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use idgate_ffi::idgate_status::{self, *};
use idgate_ffi::*;
use idgate_testkit::keys::{Curve, pem};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, numeric_date};
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::Identity;
use serde_json::{Value, json};

use self::shared::add;

const NOW: u64 = SAMPLE_NOW_MS;
const LOCAL: &str = r#"{"allow":["127.0.0.0/8"]}"#;

/// A status list on loopback: revoked at 1.
struct Source {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Source {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/list", listener.local_addr().unwrap());
        let list = StatusJwt::new(&StatusList::new(2, 8).with(1, 1), &url, numeric_date(NOW));
        let list = list.sign(&samples::issuer_key(Curve::P256));
        let asked = Arc::new(AtomicUsize::new(0));
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                seen.fetch_add(1, Ordering::SeqCst);
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", list.len());
                let _ = stream.write_all((head + &list).as_bytes());
            }
        });
        Self { url, asked }
    }
}

fn ok(status: idgate_status) {
    assert_eq!(status, IDGATE_OK);
}

fn verifier() -> *mut idgate_verifier {
    let (mut trust, mut verifier) = (ptr::null_mut(), ptr::null_mut());
    let (entry, base) = (json!({ "issuer_id": ISSUER }).to_string(), "https://gateway.example");
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    // SAFETY: every pointer is to a live value of its length.
    unsafe {
        ok(idgate_trust_new(&mut trust, ptr::null_mut()));
        ok(idgate_trust_add_entry(trust, entry.as_ptr().cast(), entry.len(), ptr::null_mut()));
        add(trust, ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes(), &[], 0);
        let (at, len) = (base.as_ptr().cast(), base.len());
        ok(idgate_verifier_new_inline(at, len, trust, 1, &mut verifier, ptr::null_mut()));
    }
    ok(idgate_trust_free(trust));
    verifier
}

fn fetcher(options: &str) -> *mut idgate_fetcher {
    let mut made = ptr::null_mut();
    // SAFETY: a live text of its length.
    ok(unsafe {
        idgate_fetcher_new(options.as_ptr().cast(), options.len(), &mut made, ptr::null_mut())
    });
    made
}

/// The verification of a credential at `idx` of the list at `uri`.
fn begun(verifier: *const idgate_verifier, idx: u64, uri: &str) -> *mut idgate_verification {
    let asked = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
    ] });
    let asked = asked.to_string();
    let mut made = std::mem::MaybeUninit::uninit();
    let mut info = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: every pointer is to a live value of its length; `made` is written with OK.
    let made: idgate_transition = unsafe {
        ok(idgate_session_create(
            verifier,
            asked.as_ptr().cast(),
            asked.len(),
            ptr::null(),
            0,
            true,
            NOW,
            made.as_mut_ptr(),
            ptr::null_mut(),
        ));
        made.assume_init()
    };
    idgate_bytes_free(made.effects);
    // SAFETY: live values.
    ok(unsafe { idgate_session_info(made.session, NOW, &mut info, ptr::null_mut()) });
    let link = text(info)["qr_code_url"].as_str().unwrap().to_owned();
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, NOW).plain("status", status_claim(idx, uri));
    let wallet = Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)));
    let body = wallet.answer_uri(&link, NOW).unwrap().form_body();
    let mut begun = ptr::null_mut();
    // SAFETY: every pointer is to a live value of its length.
    ok(unsafe {
        idgate_verification_begin(
            verifier,
            made.session,
            body.content_type.as_ptr().cast(),
            body.content_type.len(),
            body.bytes.as_ptr(),
            body.bytes.len(),
            NOW,
            &mut begun,
            ptr::null_mut(),
        )
    });
    ok(idgate_session_free(made.session));
    begun
}

/// What a step came to: its kind, its text, and what became of the session.
fn step(verification: *const idgate_verification) -> (idgate_step_kind, Value) {
    let mut step = std::mem::MaybeUninit::uninit();
    // SAFETY: `step` has room for one, and is written with OK.
    let step = unsafe {
        ok(idgate_verification_step(verification, step.as_mut_ptr(), ptr::null_mut()));
        step.assume_init()
    };
    idgate_bytes_free(step.transition.effects);
    idgate_session_free(step.transition.session);
    (step.kind, text(step.json))
}

fn text(given: idgate_bytes) -> Value {
    // SAFETY: given by the library a moment ago, and freed only here.
    let value = unsafe { std::slice::from_raw_parts(given.ptr, given.len) };
    let value = serde_json::from_slice(value).unwrap();
    ok(idgate_bytes_free(given));
    value
}

fn recall(verification: *const idgate_verification, fetcher: *const idgate_fetcher) -> bool {
    let mut known = false;
    // SAFETY: live values.
    ok(unsafe {
        idgate_verification_recall(verification, fetcher, NOW, &mut known, ptr::null_mut())
    });
    known
}

/// The reason, or null, and whether something was fetched.
fn decide(verification: *mut idgate_verification, fetcher: *const idgate_fetcher) -> (Value, bool) {
    let mut fetched = false;
    loop {
        let (kind, told) = step(verification);
        if kind == idgate_step_kind::IDGATE_STEP_DONE {
            ok(idgate_verification_free(verification));
            return (told["reason"].clone(), fetched);
        }
        if recall(verification, fetcher) {
            continue;
        }
        fetched = true;
        let mut came = false;
        // SAFETY: live values.
        unsafe {
            ok(idgate_verification_fetch(verification, fetcher, ptr::null_mut()));
            while !came {
                ok(idgate_verification_wait(verification, 100, &mut came, ptr::null_mut()));
            }
            ok(idgate_verification_settle(verification, NOW, ptr::null_mut()));
        }
    }
}

#[test]
fn the_list_decides_and_is_remembered_for_its_verifier_alone() {
    let (source, verifiers, fetcher) = (Source::start(), [verifier(), verifier()], fetcher(LOCAL));
    let [one, another] = verifiers;
    assert_eq!(decide(begun(one, 0, &source.url), fetcher), (Value::Null, true));
    let revoked = (json!("credential_revoked"), false);
    assert_eq!(decide(begun(one, 1, &source.url), fetcher), revoked);
    assert_eq!(source.asked.load(Ordering::SeqCst), 1);
    // The same version of trust, and who knows whether the same trust.
    assert_eq!(decide(begun(another, 0, &source.url), fetcher), (Value::Null, true));
    assert_eq!(source.asked.load(Ordering::SeqCst), 2);
    verifiers.into_iter().for_each(|verifier| ok(idgate_verifier_free(verifier)));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn private_addresses_are_not_reached_unless_allowed() {
    let (source, verifier, fetcher) = (Source::start(), verifier(), fetcher(""));
    let unknown = (json!("revocation_unknown"), true);
    assert_eq!(decide(begun(verifier, 0, &source.url), fetcher), unknown);
    assert_eq!(source.asked.load(Ordering::SeqCst), 0);
    ok(idgate_verifier_free(verifier));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn a_fetch_is_begun_once_settled_once_and_not_stepped_over() {
    let (source, verifier, fetcher) = (Source::start(), verifier(), fetcher(LOCAL));
    let verification = begun(verifier, 0, &source.url);
    let none = ptr::null_mut;
    let mut came = false;
    let mut next = std::mem::MaybeUninit::uninit();
    // SAFETY: live values; `next` has room for a step.
    unsafe {
        let misuse = |status| assert_eq!(status, IDGATE_MISUSE);
        misuse(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_wait(verification, 0, &mut came, none()));
        misuse(idgate_verification_settle(verification, NOW, none()));
        assert_eq!(step(verification).0, idgate_step_kind::IDGATE_STEP_NEED);
        ok(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_step(verification, next.as_mut_ptr(), none()));
        // What is under way goes on.
        ok(idgate_fetcher_free(fetcher));
        while !came {
            ok(idgate_verification_wait(verification, 100, &mut came, none()));
        }
        ok(idgate_verification_settle(verification, NOW, none()));
        misuse(idgate_verification_settle(verification, NOW, none()));
        misuse(idgate_verification_fetch(verification, fetcher, none()));
    }
    let (kind, told) = step(verification);
    assert_eq!((kind, &told["reason"]), (idgate_step_kind::IDGATE_STEP_DONE, &Value::Null));
    ok(idgate_verification_free(verification));
    ok(idgate_verifier_free(verifier));
}

#[test]
fn what_did_not_come_yet_is_unavailable_and_the_hold_can_be_given_back() {
    // Takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/list", silent.local_addr().unwrap());
    let (verifier, fetcher) = (verifier(), fetcher(LOCAL));
    let verification = begun(verifier, 0, &url);
    let (mut held, mut came) = (std::mem::MaybeUninit::uninit(), true);
    let mut released = std::mem::MaybeUninit::uninit();
    // SAFETY: live values; steps and transitions are written with OK.
    let (held, released): (idgate_step, idgate_transition) = unsafe {
        ok(idgate_verification_step(verification, held.as_mut_ptr(), ptr::null_mut()));
        let held = held.assume_init();
        ok(idgate_verification_fetch(verification, fetcher, ptr::null_mut()));
        ok(idgate_verification_wait(verification, 0, &mut came, ptr::null_mut()));
        assert!(!came);
        let settled = idgate_verification_settle(verification, NOW, ptr::null_mut());
        assert_eq!(settled, IDGATE_UNAVAILABLE);
        let session = held.transition.session;
        ok(idgate_session_released(session, NOW, released.as_mut_ptr(), ptr::null_mut()));
        (held, released.assume_init())
    };
    let mut info = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    let mut none = std::mem::MaybeUninit::uninit();
    // SAFETY: live values.
    unsafe {
        ok(idgate_session_info(released.session, NOW, &mut info, ptr::null_mut()));
        let again =
            idgate_session_released(released.session, NOW, none.as_mut_ptr(), ptr::null_mut());
        assert_eq!(again, IDGATE_NOTHING);
    }
    assert_eq!(text(info)["status"], "PENDING");
    for transition in [held.transition, released] {
        idgate_bytes_free(transition.effects);
        ok(idgate_session_free(transition.session));
    }
    idgate_bytes_free(held.json);
    ok(idgate_verification_free(verification));
    ok(idgate_verifier_free(verifier));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn options_of_a_fetcher_that_are_unknown_or_wrong_are_refused() {
    for bad in [
        "[]",
        r#"{"allowed":["10.0.0.0/8"]}"#,
        r#"{"allow":["10.0.0.1/8"]}"#,
        r#"{"allow":["localhost"]}"#,
        r#"{"roots":""}"#,
        r#"{"roots":"no certificate"}"#,
    ] {
        let mut made = ptr::null_mut();
        // SAFETY: a live text of its length.
        let status = unsafe {
            idgate_fetcher_new(bad.as_ptr().cast(), bad.len(), &mut made, ptr::null_mut())
        };
        assert_eq!((status, made.is_null()), (IDGATE_CONFIG, true), "{bad}");
    }
}

/// What the system trusts is asked for once in a process, by its environment: this test runs itself in one
/// whose system has none.
#[test]
fn a_system_without_root_certificates_has_no_fetcher_unless_it_is_given_some() {
    const NOWHERE: &str = "idgate-nowhere";
    if std::env::var_os("SSL_CERT_FILE").is_some_and(|file| file == NOWHERE) {
        return where_nothing_is_trusted();
    }
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    alone.args([
        "--exact",
        "a_system_without_root_certificates_has_no_fetcher_unless_it_is_given_some",
    ]);
    alone.envs([("SSL_CERT_FILE", NOWHERE), ("SSL_CERT_DIR", NOWHERE)]);
    let ran = alone.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
}

fn where_nothing_is_trusted() {
    let (mut made, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: places of their own.
    let status = unsafe { idgate_fetcher_new(ptr::null(), 0, &mut made, &mut error) };
    assert_eq!((status, made.is_null()), (IDGATE_CONFIG, true));
    ok(idgate_error_free(error));
    let root = Identity::iaca(Curve::P256, NOW);
    let options = json!({ "roots": pem("CERTIFICATE", &root.der) }).to_string();
    ok(idgate_fetcher_free(fetcher(&options)));
}
