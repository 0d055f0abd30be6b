//! The Request Object that a wallet fetches for a request by reference.

use idgate_core::Asked;
use idgate_core::UnixMillis;
use zeroize::Zeroizing;

use crate::answer::handle_of;
use crate::boundary::{boundary, put};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, optional_text};
use crate::handles;
use crate::session::{Kept, SessionHandle, idgate_session};
use crate::sized;
use crate::status::idgate_status;
use crate::step::{StepHandle, idgate_kind, idgate_step};
use crate::verifier::{VerifierHandle, idgate_verifier};

/// A wallet's fetch of a request: GET or POST `{base_url}/v1/oid4vp/request/{handle}`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_asked {
    /// `sizeof(idgate_asked)`
    pub size: usize,
    /// The path that the wallet asked for, or its last segment.
    pub to: idgate_str,
    /// For a POST: the `Content-Type` header.
    pub content_type: idgate_str,
    /// For a POST: the body, a form. A GET has neither `content_type` nor `body`.
    pub body: idgate_str,
    /// Instead of the two: the form's `wallet_nonce`, if you read the form yourself.
    pub wallet_nonce: idgate_str,
}

sized::sized!(idgate_asked, "the question": idgate_str, idgate_str, idgate_str, idgate_str);

/// Gives the Request Object of a session whose request goes by reference: a step of the kind IDGATE_STEP_DONE, whose
/// reply has it as body. A wallet may fetch it again while the session is CREATED or PENDING. The first fetch makes
/// the session PENDING: commit the transition before you reply. IDGATE_BAD_RESPONSE: send the error's reply.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_request_object(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    asked: *const idgate_asked,
    now_ms: u64,
    out: *mut *mut idgate_step,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = &handles::find::<VerifierHandle>(verifier)?.verifier;
        let session = &handles::find::<SessionHandle>(session)?.0;
        // SAFETY: the caller's promise, for each.
        let (to, content_type, body, nonce) = unsafe {
            let asked = sized::read(asked)?;
            let body = input(asked.body, "body")?;
            (
                optional_text(asked.to, "to")?,
                optional_text(asked.content_type, "content_type")?,
                (!asked.body.ptr.is_null()).then_some(body),
                optional_text(asked.wallet_nonce, "wallet_nonce")?,
            )
        };
        let to = handle_of(to)?;
        let asked = match (content_type.is_some() || body.is_some(), nonce) {
            (true, None) => Asked::post(to, content_type, body.unwrap_or_default())?,
            (false, nonce) => Asked { to, wallet_nonce: nonce.map(Into::into) },
            (true, Some(_)) => {
                let why = "wallet_nonce is given together with content_type or body; leave one out";
                return Err(Failure::misuse(why));
            }
        };
        put(out, || {
            let made = verifier.request_object(session, &asked, UnixMillis(now_ms))?;
            let reply = Some(made.reply());
            let transition = made.transition.map(Kept::of);
            let (kind, json) = (idgate_kind::IDGATE_STEP_DONE, Zeroizing::default());
            Ok(handles::make(StepHandle { kind, transition, json, reply }))
        })
    })
}
