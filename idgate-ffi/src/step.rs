//! Steps: something to commit, and something to fetch or to answer.

use std::ptr;

use idgate_core::HttpReply;
use zeroize::Zeroizing;

use crate::boundary::{boundary, put};
use crate::failure::{Failure, idgate_error};
use crate::given::idgate_str;
use crate::handles;
use crate::reply::{self, idgate_reply};
use crate::session::{Kept, idgate_transition};
use crate::status::idgate_status;

/// A step: what to commit, and what to fetch or to answer.
#[allow(non_camel_case_types)]
pub struct idgate_step {
    _private: [u8; 0],
}

/// The kind of a step.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types)]
pub enum idgate_kind {
    /// The handle is not a step.
    IDGATE_STEP_NONE = 0,
    /// Everything but the status is good. Commit the transition, fetch all needs at the same time, give each to
    /// idgate_verification_supply, then step again. Or let an idgate_fetcher do it: call
    /// idgate_verification_recall; if it has nothing, commit, then call idgate_verification_fetch,
    /// idgate_verification_wait and idgate_verification_settle. Then step again.
    IDGATE_STEP_NEED = 1,
    /// The verification is decided. Commit the transition, then send the reply to the wallet.
    IDGATE_STEP_DONE = 2,
}

pub(crate) struct StepHandle {
    pub(crate) kind: idgate_kind,
    /// The transition to commit. `None`: there is no session, or it does not change.
    pub(crate) transition: Option<Kept>,
    pub(crate) json: Zeroizing<String>,
    /// The reply to send. `None`: no wallet waits for one.
    pub(crate) reply: Option<HttpReply>,
}

handles::named!(StepHandle => idgate_step, "step");

/// Gives the kind of a step.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_step_kind(step: *const idgate_step) -> idgate_kind {
    handles::find::<StepHandle>(step).map_or(idgate_kind::IDGATE_STEP_NONE, |step| step.kind)
}

/// Gives the transition to commit. `session` in it is NULL if there is nothing to commit. Each call gives a
/// handle of the session and bytes of their own: free them.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_step_transition(
    step: *const idgate_step,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let step = handles::find::<StepHandle>(step)?;
        let transition = step.transition.as_ref();
        put(out, || Ok(transition.map_or(idgate_transition::NONE, Kept::give)))
    })
}

/// Gives the reply to the wallet, once the transition is committed. IDGATE_NOTHING: the step is an
/// IDGATE_STEP_NEED, or of a presentation outside a session.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_step_reply(
    step: *const idgate_step,
    out: *mut idgate_reply,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let step = handles::find::<StepHandle>(step)?;
        let none = || {
            Failure::nothing(
                "the step has no reply: nothing is decided, or no wallet waits for one",
            )
        };
        // SAFETY: the caller's promise.
        unsafe { reply::write(out, step.reply.as_ref().ok_or_else(none)?) }
    })
}

/// Gives the details of a step as JSON.
///
/// - IDGATE_STEP_NEED: `{"needs":[{"kind","uri","accept","accept_otherwise"}]}`. `kind` is "status_list", "crl" or
///   "identifier_list". `accept` is the media type to ask for, `accept_otherwise` the one to ask for after 404, 406
///   or 415, or null.
/// - IDGATE_STEP_DONE of an answer: `reply` ("accepted", "error_noted", "refused"), `redirect_uri`, `status`, `reason`,
///   `wallet_error`, and `report` with every check that was made.
/// - IDGATE_STEP_DONE of a presentation: the same as idgate_presentation_verify gives.
/// - Step of idgate_request_object: empty.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_step_json(step: *const idgate_step) -> idgate_str {
    handles::find::<StepHandle>(step).map_or(idgate_str::NONE, |step| idgate_str::of(&step.json))
}

/// Frees a step.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_step_free(step: *mut idgate_step) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<StepHandle>(step))
}
