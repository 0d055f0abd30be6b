//! The messages for hundreds of wrong inputs. They use only words that fit programs in every language.

#![allow(clippy::unwrap_used, unsafe_code)]

mod answers;
mod outside;
mod presentations;
mod sessions;
#[path = "../shared/mod.rs"]
mod shared;
mod trust;
mod verifiers;

use std::mem::MaybeUninit;
use std::ptr;

use idgate_ffi::idgate_status::{self, *};
use idgate_ffi::*;
use idgate_testkit::time::SAMPLE_NOW_MS;

use self::shared::{NONE, ok};

const NOW: u64 = SAMPLE_NOW_MS;

/// Words of a command line, of C, of JSON that the program never saw, and of a gateway with an operator.
const FOREIGN: [&str; 8] =
    ["--", "IDGATE_", "idgate_", "NULL", "line 1 column", "the operator", "gateway", "0x"];

/// The texts so far.
#[derive(Default)]
struct Told {
    calls: usize,
    wrong: Vec<String>,
}

impl Told {
    /// Makes a call with a wrong input, and reads its error.
    #[track_caller]
    fn of(&mut self, call: impl FnOnce(*mut *mut idgate_error) -> idgate_status) {
        let mut error = ptr::null_mut();
        let status = call(&mut error);
        self.calls += 1;
        assert!(
            status != IDGATE_OK && status != IDGATE_INTERNAL,
            "call {}: {status:?}",
            self.calls
        );
        assert_eq!(idgate_error_kind(error), status);
        let mut reply = idgate_reply {
            size: size_of::<idgate_reply>(),
            status: 0,
            retry_after_s: 0,
            content_type: NONE,
            body: NONE,
        };
        // SAFETY: a place of its own.
        ok(unsafe { idgate_error_reply(error, &mut reply) });
        let (code, message) = (idgate_error_code(error), shared::text(idgate_error_message(error)));
        assert!(!message.is_empty() && shared::text(code).len() > 3, "call {}", self.calls);
        let texts = [
            idgate_error_path(error),
            idgate_error_issuer(error),
            idgate_error_field(error),
            idgate_error_check(error),
            idgate_error_clause(error),
            idgate_error_hint(error),
            idgate_error_remedy(error),
            code,
            reply.body,
        ];
        for text in texts.map(shared::text).into_iter().chain([message]) {
            let found = FOREIGN.into_iter().filter(|foreign| text.contains(foreign));
            self.wrong.extend(found.map(|foreign| format!("{foreign}: {text}")));
        }
        ok(idgate_error_free(error));
    }
}

#[test]
fn no_message_speaks_of_c_of_a_command_line_or_of_an_operator() {
    let mut told = Told::default();
    missing_handles(&mut told);
    trust::issuers(&mut told);
    trust::materials(&mut told);
    verifiers::verifiers(&mut told);
    verifiers::signers(&mut told);
    sessions::sessions(&mut told);
    answers::answers(&mut told);
    presentations::presentations(&mut told);
    outside::fetchers_and_webhooks(&mut told);
    assert!(told.calls >= 300, "{} calls", told.calls);
    assert!(told.wrong.is_empty(), "{}", told.wrong.join("\n"));
    assert_eq!(idgate_in_use(), 0, "something is not freed");
}

fn bytes() -> idgate_bytes {
    idgate_bytes { ptr: ptr::null_mut(), len: 0 }
}

/// Wrong texts: not UTF-8, too long, and a length without an address.
fn impossible() -> [idgate_str; 3] {
    let byte = (&[0xff_u8][..]).into();
    [byte, idgate_str { len: usize::MAX, ..byte }, idgate_str { ptr: ptr::null(), len: 1 }]
}

fn missing_handles(told: &mut Told) {
    let (verifier, session, trust) = (ptr::null(), ptr::null(), ptr::null());
    let (signer, verification, step) = (ptr::null(), ptr::null(), ptr::null());
    let (options, fetcher) = (ptr::null(), ptr::null());
    let mut out = bytes();
    let mut came = false;
    let mut made = MaybeUninit::uninit();
    // SAFETY: no handle is followed, no struct is given, and outputs have places of their own.
    unsafe {
        told.of(|e| idgate_trust_new(ptr::null_mut(), e));
        told.of(|e| idgate_trust_new(ptr::without_provenance_mut(3), e));
        told.of(|e| idgate_trust_add_issuer(trust, "{}".into(), e));
        told.of(|e| idgate_trust_add_material(trust, "i".into(), 1, NONE, ptr::null(), e));
        told.of(|e| idgate_verifier_new(options, trust, ptr::null_mut(), e));
        told.of(|e| idgate_session_create(verifier, NONE, ptr::null(), NOW, made.as_mut_ptr(), e));
        told.of(|e| idgate_session_snapshot(session, &mut out, e));
        told.of(|e| idgate_session_result_snapshot(session, NOW, &mut out, e));
        told.of(|e| idgate_session_restore_result(session, NONE, ptr::null_mut(), e));
        told.of(|e| idgate_session_info(session, NOW, &mut out, e));
        told.of(|e| idgate_session_result(session, 1, NONE, NOW, &mut out, e));
        told.of(|e| idgate_session_followed(session, NOW, made.as_mut_ptr(), e));
        told.of(|e| idgate_session_due(session, NOW, made.as_mut_ptr(), e));
        told.of(|e| idgate_session_released(session, NOW, made.as_mut_ptr(), e));
        told.of(|e| idgate_dc_api_requests(verifier, session, NOW, &mut out, e));
        told.of(|e| idgate_request_object(verifier, session, ptr::null(), NOW, ptr::null_mut(), e));
        told.of(|e| {
            idgate_verification_begin(verifier, session, ptr::null(), NOW, ptr::null_mut(), e)
        });
        told.of(|e| idgate_verification_step(verification, ptr::null_mut(), e));
        told.of(|e| idgate_verification_supply(verification, 0, NONE, NOW, e));
        told.of(|e| idgate_verification_recall(verification, fetcher, NOW, &mut came, e));
        told.of(|e| idgate_verification_fetch(verification, fetcher, e));
        told.of(|e| idgate_verification_wait(verification, 0, &mut came, e));
        told.of(|e| idgate_verification_settle(verification, NOW, e));
        told.of(|e| idgate_step_transition(step, made.as_mut_ptr(), e));
        told.of(|e| idgate_step_reply(step, ptr::null_mut(), e));
        told.of(|e| idgate_signer_public_key(signer, &mut out, e));
        told.of(|e| idgate_signer_certified(signer, NONE, NOW, ptr::null_mut(), e));
        told.of(|e| idgate_registration_check(signer, NONE, NOW, &mut out, e));
        told.of(|e| idgate_registration_compare(verifier, NONE, ptr::null(), NOW, &mut out, e));
        told.of(|e| idgate_presentation_verify(trust, NONE, ptr::null(), NOW, &mut out, e));
        told.of(|e| idgate_presentation_begin(trust, NONE, ptr::null(), NOW, ptr::null_mut(), e));
    }
}
