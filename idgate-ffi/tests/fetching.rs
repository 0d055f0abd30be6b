//! Status lists and CRLs with the library's own fetcher, through the C ABI and over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, unsafe_code)]

mod shared;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use idgate_ffi::idgate_status::*;
use idgate_ffi::*;
use idgate_testkit::keys::{Curve, pem};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, numeric_date};
use idgate_testkit::wallet::{KbJwt, Presentation, Wallet, present};
use idgate_testkit::x509::Identity;
use serde_json::{Value, json};

use self::shared::{NONE, add, add_issuer, code_of, expected, ok, taken};

const NOW: u64 = SAMPLE_NOW_MS;
const LOCAL: &[&str] = &["127.0.0.0/8"];

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

fn trusting() -> *mut idgate_trust {
    let trust = shared::trust();
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    add_issuer(trust, &json!({ "issuer_id": ISSUER }).to_string());
    add(trust, ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes(), &[], 0);
    trust
}

fn verifier() -> *mut idgate_verifier {
    let trust = trusting();
    let draft = idgate_profile::IDGATE_PROFILE_DRAFT as i32;
    let verifier = shared::verifier("https://gateway.example", draft, trust);
    ok(idgate_trust_free(trust));
    verifier
}

/// Makes a fetcher with these options, or returns the message of the error.
fn make(allow: &[&str], roots: idgate_str) -> Result<*mut idgate_fetcher, String> {
    let (mut made, mut error) = (ptr::null_mut(), ptr::null_mut());
    let allow: Vec<idgate_str> = allow.iter().map(|range| (*range).into()).collect();
    let options = idgate_fetch_options {
        size: size_of::<idgate_fetch_options>(),
        allow: allow.as_ptr(),
        allow_len: allow.len(),
        roots,
    };
    // SAFETY: live texts of their lengths.
    match unsafe { idgate_fetcher_new(&options, &mut made, &mut error) } {
        IDGATE_OK => Ok(made),
        status => {
            assert_eq!((status, made.is_null()), (IDGATE_CONFIG, true));
            Err(shared::message_of(error))
        }
    }
}

fn fetcher(allow: &[&str]) -> *mut idgate_fetcher {
    make(allow, NONE).unwrap()
}

/// A credential at `idx` of the list at `uri`, and its wallet.
fn wallet(idx: u64, uri: &str) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, NOW).plain("status", status_claim(idx, uri));
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}

/// The verification of a credential at `idx` of the list at `uri`.
fn begun(verifier: *const idgate_verifier, idx: u64, uri: &str) -> *mut idgate_verification {
    let asked = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
    ] });
    let asked = asked.to_string();
    let mut made = std::mem::MaybeUninit::uninit();
    let mut info = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    let new = idgate_new_session {
        size: size_of::<idgate_new_session>(),
        mode: idgate_mode::IDGATE_MODE_LIVE as i32,
        strict: 0,
        tenant: NONE,
        registration: NONE,
    };
    // SAFETY: every pointer is to a live value of its length; `made` is written with OK.
    let made: idgate_transition = unsafe {
        let (asked, none) = (asked.as_str().into(), ptr::null_mut());
        ok(idgate_session_create(verifier, asked, &new, NOW, made.as_mut_ptr(), none));
        made.assume_init()
    };
    ok(idgate_bytes_free(made.effects));
    // SAFETY: live values.
    ok(unsafe { idgate_session_info(made.session, NOW, &mut info, ptr::null_mut()) });
    let info: Value = serde_json::from_slice(&taken(info)).unwrap();
    let link = info["qr_code_url"].as_str().unwrap();
    let body = wallet(idx, uri).answer_uri(link, NOW).unwrap().form_body();
    let mut begun = ptr::null_mut();
    let answer = idgate_answer {
        size: size_of::<idgate_answer>(),
        to: info["session_id"].as_str().unwrap().into(),
        content_type: body.content_type.as_str().into(),
        body: (&*body.bytes).into(),
        from_page: 0,
    };
    // SAFETY: every pointer is to a live value of its length.
    ok(unsafe {
        let session = made.session;
        idgate_verification_begin(verifier, session, &answer, NOW, &mut begun, ptr::null_mut())
    });
    ok(idgate_session_free(made.session));
    begun
}

/// The next step.
fn stepped(verification: *const idgate_verification) -> *mut idgate_step {
    let mut step = ptr::null_mut();
    // SAFETY: a place of its own.
    ok(unsafe { idgate_verification_step(verification, &mut step, ptr::null_mut()) });
    step
}

/// The kind and the text of the next step.
fn step(verification: *const idgate_verification) -> (idgate_kind, Value) {
    let step = stepped(verification);
    let (kind, json) = (idgate_step_kind(step), shared::text(idgate_step_json(step)));
    ok(idgate_step_free(step));
    (kind, serde_json::from_str(&json).unwrap())
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
        if kind == idgate_kind::IDGATE_STEP_DONE {
            ok(idgate_verification_free(verification));
            return (told["reason"].clone(), fetched);
        }
        fetched |= answered(verification, fetcher);
    }
}

/// Answers all needs of the last step. Returns whether something was fetched for that.
fn answered(verification: *mut idgate_verification, fetcher: *const idgate_fetcher) -> bool {
    if recall(verification, fetcher) {
        return false;
    }
    let mut came = false;
    // SAFETY: live values.
    unsafe {
        ok(idgate_verification_fetch(verification, fetcher, ptr::null_mut()));
        while !came {
            ok(idgate_verification_wait(verification, 100, &mut came, ptr::null_mut()));
        }
        ok(idgate_verification_settle(verification, NOW, ptr::null_mut()));
    }
    true
}

#[test]
fn a_fetched_list_is_cached_only_for_its_verifier() {
    let (source, verifiers, fetcher) = (Source::start(), [verifier(), verifier()], fetcher(LOCAL));
    let [one, another] = verifiers;
    assert_eq!(decide(begun(one, 0, &source.url), fetcher), (Value::Null, true));
    let revoked = (json!("credential_revoked"), false);
    assert_eq!(decide(begun(one, 1, &source.url), fetcher), revoked);
    assert_eq!(source.asked.load(Ordering::SeqCst), 1);
    // The same version number, but possibly another trust.
    assert_eq!(decide(begun(another, 0, &source.url), fetcher), (Value::Null, true));
    assert_eq!(source.asked.load(Ordering::SeqCst), 2);
    verifiers.into_iter().for_each(|verifier| ok(idgate_verifier_free(verifier)));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn private_addresses_are_not_reached_unless_allowed() {
    let (source, verifier, fetcher) = (Source::start(), verifier(), fetcher(&[]));
    let unknown = (json!("revocation_unknown"), true);
    assert_eq!(decide(begun(verifier, 0, &source.url), fetcher), unknown);
    assert_eq!(source.asked.load(Ordering::SeqCst), 0);
    ok(idgate_verifier_free(verifier));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn a_fetch_starts_once_and_settles_once_before_the_next_step() {
    let (source, verifier, fetcher) = (Source::start(), verifier(), fetcher(LOCAL));
    let verification = begun(verifier, 0, &source.url);
    let none = ptr::null_mut;
    let mut came = false;
    let mut next = ptr::null_mut();
    // SAFETY: live values.
    unsafe {
        let misuse = |status| assert_eq!(status, IDGATE_MISUSE);
        misuse(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_wait(verification, 0, &mut came, none()));
        misuse(idgate_verification_settle(verification, NOW, none()));
        assert_eq!(step(verification).0, idgate_kind::IDGATE_STEP_NEED);
        ok(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_fetch(verification, fetcher, none()));
        misuse(idgate_verification_step(verification, &mut next, none()));
        // A fetch in progress continues.
        ok(idgate_fetcher_free(fetcher));
        while !came {
            ok(idgate_verification_wait(verification, 100, &mut came, none()));
        }
        ok(idgate_verification_settle(verification, NOW, none()));
        misuse(idgate_verification_settle(verification, NOW, none()));
        misuse(idgate_verification_fetch(verification, fetcher, none()));
    }
    let (kind, told) = step(verification);
    assert_eq!((kind, &told["reason"]), (idgate_kind::IDGATE_STEP_DONE, &Value::Null));
    ok(idgate_verification_free(verification));
    ok(idgate_verifier_free(verifier));
}

#[test]
fn an_unfinished_fetch_is_unavailable_and_the_hold_can_be_released() {
    // Accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/list", silent.local_addr().unwrap());
    let (verifier, fetcher) = (verifier(), fetcher(LOCAL));
    let verification = begun(verifier, 0, &url);
    let (mut held, mut came) = (std::mem::MaybeUninit::uninit(), true);
    let mut released = std::mem::MaybeUninit::uninit();
    let mut error = ptr::null_mut();
    let step = stepped(verification);
    // SAFETY: live values; transitions are written with OK.
    let (held, released): (idgate_transition, idgate_transition) = unsafe {
        ok(idgate_step_transition(step, held.as_mut_ptr(), ptr::null_mut()));
        let held = held.assume_init();
        ok(idgate_verification_fetch(verification, fetcher, ptr::null_mut()));
        ok(idgate_verification_wait(verification, 0, &mut came, ptr::null_mut()));
        assert!(!came);
        let settled = idgate_verification_settle(verification, NOW, &mut error);
        assert_eq!(settled, IDGATE_UNAVAILABLE);
        ok(idgate_session_released(held.session, NOW, released.as_mut_ptr(), ptr::null_mut()));
        (held, released.assume_init())
    };
    assert_eq!(code_of(error), "unavailable");
    let pending = idgate_session_state::IDGATE_SESSION_PENDING;
    assert_eq!(idgate_session_status(released.session, NOW), pending);
    let mut none = std::mem::MaybeUninit::uninit();
    // SAFETY: live values.
    unsafe {
        let again =
            idgate_session_released(released.session, NOW, none.as_mut_ptr(), ptr::null_mut());
        assert_eq!(again, IDGATE_NOTHING);
    }
    for transition in [held, released] {
        ok(idgate_bytes_free(transition.effects));
        ok(idgate_session_free(transition.session));
    }
    ok(idgate_step_free(step));
    ok(idgate_verification_free(verification));
    ok(idgate_verifier_free(verifier));
    ok(idgate_fetcher_free(fetcher));
}

/// One presentation at `idx` of the list at `uri`, in steps.
fn presented(trust: *const idgate_trust, idx: u64, uri: &str) -> *mut idgate_verification {
    let (client_id, nonce) = ("redirect_uri:https://shop.example", "the nonce");
    let (presentation, claims) = (presentation(idx, uri, client_id, nonce), ["given_name".into()]);
    let expected = expected(ISSUER, client_id, nonce, &claims);
    let mut begun = ptr::null_mut();
    // SAFETY: every pointer is to a live value of its length.
    ok(unsafe {
        let given = presentation.as_str().into();
        idgate_presentation_begin(trust, given, &expected, NOW, &mut begun, ptr::null_mut())
    });
    begun
}

fn presentation(idx: u64, uri: &str, client_id: &str, nonce: &str) -> String {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, NOW).plain("status", status_claim(idx, uri));
    let credential = credential.issue(&samples::issuer_key(Curve::P256));
    let shown = Presentation::disclosing(&credential, &["given_name".to_owned()]);
    let request = AuthorizationRequest {
        client_id: client_id.into(),
        nonce: nonce.into(),
        ..AuthorizationRequest::default()
    };
    present(&shown, Some(&KbJwt::new(&holder, &shown, &request, NOW).sign()))
}

/// The outcome of one presentation: its claims, or the code of its refusal, and whether something was fetched.
fn outcome(
    verification: *mut idgate_verification,
    fetcher: *const idgate_fetcher,
) -> (Value, bool) {
    let (mut next, mut error, mut fetched) = (ptr::null_mut(), ptr::null_mut(), false);
    loop {
        // SAFETY: live values.
        let status = unsafe { idgate_verification_step(verification, &mut next, &mut error) };
        if status != IDGATE_OK {
            assert_eq!(status, IDGATE_REFUSED);
            ok(idgate_verification_free(verification));
            return (code_of(error).into(), fetched);
        }
        let (kind, json) = (idgate_step_kind(next), shared::text(idgate_step_json(next)));
        nothing_to_commit_or_to_send(next);
        ok(idgate_step_free(next));
        if kind == idgate_kind::IDGATE_STEP_DONE {
            ok(idgate_verification_free(verification));
            let told: Value = serde_json::from_str(&json).unwrap();
            return (told["claims"].clone(), fetched);
        }
        fetched |= answered(verification, fetcher);
    }
}

fn nothing_to_commit_or_to_send(step: *const idgate_step) {
    let mut transition = std::mem::MaybeUninit::<idgate_transition>::uninit();
    let size = size_of::<idgate_reply>();
    let mut reply =
        idgate_reply { size, status: 0, retry_after_s: 0, content_type: NONE, body: NONE };
    // SAFETY: live values; the transition is written with OK.
    unsafe {
        ok(idgate_step_transition(step, transition.as_mut_ptr(), ptr::null_mut()));
        assert!(transition.assume_init().session.is_null());
        assert_eq!(idgate_step_reply(step, &mut reply, ptr::null_mut()), IDGATE_NOTHING);
    }
}

#[test]
fn the_status_of_one_presentation_is_fetched_and_remembered() {
    let (source, trust, fetcher) = (Source::start(), trusting(), fetcher(LOCAL));
    let good = json!({ "given_name": "Erika" });
    assert_eq!(outcome(presented(trust, 0, &source.url), fetcher), (good.clone(), true));
    let revoked = (json!("credential_revoked"), false);
    assert_eq!(outcome(presented(trust, 1, &source.url), fetcher), revoked);
    assert_eq!(source.asked.load(Ordering::SeqCst), 1);
    // The list was authentic for the issuer before its replacement.
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    add(trust, ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes(), &[], 0);
    assert_eq!(outcome(presented(trust, 0, &source.url), fetcher), (good, true));
    ok(idgate_trust_free(trust));
    ok(idgate_fetcher_free(fetcher));
}

#[test]
fn a_status_that_is_not_fetched_is_unknown_and_the_hint_says_how_to_fetch_it() {
    let trust = trusting();
    let (client_id, nonce) = ("redirect_uri:https://shop.example", "the nonce");
    let text = presentation(0, "https://status.example/1", client_id, nonce);
    let claims = ["given_name".into()];
    let expected = expected(ISSUER, client_id, nonce, &claims);
    let mut error = ptr::null_mut();
    let mut out = idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    // SAFETY: every pointer is to a live value of its length.
    let status = unsafe {
        idgate_presentation_verify(
            trust,
            text.as_str().into(),
            &expected,
            NOW,
            &mut out,
            &mut error,
        )
    };
    assert_eq!(status, IDGATE_REFUSED);
    assert_eq!(shared::text(idgate_error_remedy(error)), "supply_status");
    assert_eq!(code_of(error), "revocation_unknown");
    ok(idgate_trust_free(trust));
}

#[test]
fn options_of_a_fetcher_that_are_wrong_are_refused_by_name() {
    for (allow, roots, says) in [
        (&["10.0.0.1/8"][..], NONE, "allow[0]: "),
        (&["10.0.0.0/8", "localhost"], NONE, "allow[1]: "),
        (&[], "".into(), "roots: "),
        (&[], "no certificate".into(), "roots: "),
    ] {
        let why = make(allow, roots).unwrap_err();
        assert!(why.starts_with(says), "{why}");
    }
}

/// A process reads the system's roots once, from its environment. This test therefore runs itself in a
/// process without any roots.
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
    assert!(make(&[], NONE).unwrap_err().contains("root certificates"));
    let root = Identity::iaca(Curve::P256, NOW);
    let pem = pem("CERTIFICATE", &root.der);
    ok(idgate_fetcher_free(make(&[], pem.as_str().into()).unwrap()));
}
