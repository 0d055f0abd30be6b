//! A wallet's answer under verification.

use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use idgate::{Allowance, Asked, BlockingFetcher, UnderWay};
use idgate_core::shell::OfferId;
use idgate_core::verify::WalletReply;
use idgate_core::{Answer, Decision, Need, Step, Supplied, UnixMillis, Verification};
use self_cell::self_cell;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::boundary::{boundary, put};
use crate::bytes::{give, given_text, idgate_bytes, input};
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::report;
use crate::session::{SessionHandle, idgate_session, idgate_transition};
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier};

/// A verification under way.
#[allow(non_camel_case_types)]
pub struct idgate_verification {
    _private: [u8; 0],
}

/// What a step came to.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types)]
pub enum idgate_step_kind {
    /// Everything but the status is good. Commit the transition, fetch every need at once, give
    /// each to idgate_verification_supply, then step again. Or have an idgate_fetcher do that: ask
    /// idgate_verification_recall, and where it has nothing commit, then call
    /// idgate_verification_fetch, idgate_verification_wait and idgate_verification_settle.
    IDGATE_STEP_NEED = 1,
    /// Decided. Commit the transition, then answer the wallet.
    IDGATE_STEP_DONE = 2,
}

/// One step of a verification. Free `transition` and `json`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_step {
    /// What it came to.
    pub kind: idgate_step_kind,
    /// To commit.
    pub transition: idgate_transition,
    /// JSON. IDGATE_STEP_NEED: `{"needs":[{"kind":"status_list"|"crl"|"identifier_list","uri","accept",
    /// "accept_otherwise"}]}`: the media type to ask for, and the one to ask for after 404, 406 or 415,
    /// or null.
    /// IDGATE_STEP_DONE: `{"reply":"accepted"|"error_noted"|"refused","body","redirect_uri","status",
    /// "reason","wallet_error","report"}`: answer 200 with `body` to the first two, and 400
    /// `invalid_presentation` to the third, whatever the reason. `body` is an object as the profile
    /// of the offer has it, with `redirect_uri` when there is one; null: it was refused.
    pub json: idgate_bytes,
}

struct Inputs {
    verifier: Arc<VerifierHandle>,
    session: Arc<SessionHandle>,
    way: Way,
    /// Claims may be in it.
    body: Zeroizing<Vec<u8>>,
}

/// How an answer came.
enum Way {
    /// A wallet posted it to an offer; `None`: to the session's own.
    Posted { offer: Option<OfferId>, content_type: Option<String> },
    /// A page got it from its browser.
    Browser,
}

self_cell!(
    struct Running {
        owner: Inputs,
        #[covariant]
        dependent: Verification,
    }
);

pub(crate) struct VerificationHandle(Mutex<State>);

handles::named!(VerificationHandle => idgate_verification);

pub(crate) struct State {
    running: Running,
    /// What the last step asked for, in order.
    needs: Vec<Need>,
    /// Their fetches.
    under_way: Option<UnderWay>,
    /// What all rounds of fetches have left.
    allowance: Allowance,
    done: bool,
}

/// Takes a wallet's answer: the `Content-Type` header, NULL when there was none, and the body.
/// IDGATE_BAD_RESPONSE: nothing is to be stored; the code says what to answer.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_verification_begin(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    content_type: *const c_char,
    content_type_len: usize,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    out: *mut *mut idgate_verification,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    // SAFETY: the caller's promise; no name of an offer is given.
    unsafe {
        idgate_offer_verification_begin(
            verifier,
            session,
            ptr::null(),
            0,
            content_type,
            content_type_len,
            body,
            body_len,
            now_ms,
            out,
            err_out,
        )
    }
}

/// The same for an answer to the offer of that id, as idgate_session_info names it; NULL: to the
/// session's own. The answer to one offer settles the session.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_offer_verification_begin(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    offer: *const c_char,
    offer_len: usize,
    content_type: *const c_char,
    content_type_len: usize,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    out: *mut *mut idgate_verification,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise, for all three.
        let (offer, content_type, body) = unsafe {
            (
                given_text(offer, offer_len, "offer")?,
                given_text(content_type, content_type_len, "content_type")?,
                input(body, body_len, "body")?,
            )
        };
        let (offer, content_type) = (offer.map(OfferId::new), content_type.map(str::to_owned));
        let way = Way::Posted { offer, content_type };
        let body = Zeroizing::new(body.to_vec());
        let started = start(Inputs { verifier, session, way, body }, UnixMillis(now_ms))?;
        put(out, || Ok(handles::make(started)))
    })
}

/// The same for what a page got from its browser: `answer` is the JSON text of the credential, an
/// object with `protocol` and `data`, as your page sent it to you. It is good for a page from one of
/// the origins that the request named, and `verification_details` say which; nothing in it is believed
/// about that. Nobody waits for the `body` of the decision: tell the page what you like.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_dc_api_verification_begin(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    answer: *const u8,
    answer_len: usize,
    now_ms: u64,
    out: *mut *mut idgate_verification,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let answer = unsafe { input(answer, answer_len, "answer")? };
        let body = Zeroizing::new(answer.to_vec());
        let inputs = Inputs { verifier, session, way: Way::Browser, body };
        let started = start(inputs, UnixMillis(now_ms))?;
        put(out, || Ok(handles::make(started)))
    })
}

/// Goes as far as possible without the world.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_step(
    verification: *const idgate_verification,
    out: *mut idgate_step,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        put(out, || verification.state()?.step())
    })
}

/// Gives back what came of the need of that index in the last step, at `now_ms`, after the
/// transition of the step was committed. `unavailable`: nothing that can be used came in time.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_supply(
    verification: *const idgate_verification,
    need: usize,
    unavailable: bool,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        // SAFETY: the caller's promise.
        let body = unsafe { input(body, body_len, "body")? };
        let what = if unavailable { Supplied::Unavailable } else { Supplied::Bytes(body) };
        verification.state()?.supply(need, what, UnixMillis(now_ms))
    })
}

/// Frees a verification, finished or not.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verification_free(
    verification: *mut idgate_verification,
) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<VerificationHandle>(verification))
}

fn start(inputs: Inputs, now: UnixMillis) -> Result<VerificationHandle, Failure> {
    let running = Running::try_new(inputs, |inputs| begin(inputs, now))?;
    let (needs, under_way, allowance) = (Vec::new(), None, Allowance::of_one_answer());
    Ok(VerificationHandle(Mutex::new(State { running, needs, under_way, allowance, done: false })))
}

fn begin(inputs: &Inputs, now: UnixMillis) -> Result<Verification<'_>, Failure> {
    let (verifier, session, body) = (&inputs.verifier.0, &inputs.session.0, &inputs.body);
    match &inputs.way {
        Way::Posted { offer, content_type } => {
            let response = Answer {
                to: offer.as_ref().map_or(session.id().as_str(), OfferId::as_str),
                content_type: content_type.as_deref(),
                body,
            };
            Ok(verifier.begin(session, response, &mut OsEntropy, now)?)
        }
        Way::Browser => Ok(verifier.begin(session, Answer::dc_api(body), &mut OsEntropy, now)?),
    }
}

impl VerificationHandle {
    /// A fault ends a verification: nothing is decided from what it left half done.
    pub(crate) fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.0.lock().map_err(|_| Failure::internal("an earlier fault ended this verification"))
    }
}

impl State {
    fn step(&mut self) -> Result<idgate_step, Failure> {
        if self.done {
            return Err(Failure::misuse("the verification is done already"));
        }
        self.not_under_way()?;
        match self.running.with_dependent_mut(|_, verification| verification.step())? {
            Step::Need { hold, needs } => {
                let json = json!({ "needs": needs.iter().map(need_json).collect::<Vec<_>>() });
                self.needs = needs;
                let transition = idgate_transition::give(*hold);
                let kind = idgate_step_kind::IDGATE_STEP_NEED;
                Ok(idgate_step { kind, transition, json: give(json.to_string()) })
            }
            Step::Done(decision) => {
                self.done = true;
                self.needs.clear();
                Ok(done(*decision))
            }
        }
    }

    /// Answers needs of the last step from what `fetcher` remembers; whether it answered any.
    pub(crate) fn recall(&mut self, fetcher: &BlockingFetcher, now: UnixMillis) -> bool {
        let needs = &self.needs;
        self.running.with_dependent_mut(|_, it| fetcher.recall(it, needs, now))
    }

    /// Begins to fetch what the last step needs.
    pub(crate) fn fetch(&mut self, fetcher: &BlockingFetcher) -> Result<(), Failure> {
        self.not_under_way()?;
        if self.needs.is_empty() {
            return Err(Failure::misuse("the last step needs nothing"));
        }
        let asked = Asked::all(self.running.borrow_dependent(), self.needs.clone());
        let begun = fetcher.begin(asked, self.allowance).map_err(Failure::unavailable)?;
        self.under_way = Some(begun);
        Ok(())
    }

    /// Waits for what was begun; whether everything came.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<bool, Failure> {
        let under_way = self.under_way.as_mut();
        Ok(under_way.ok_or_else(nothing_under_way)?.wait(patience))
    }

    /// Answers the needs with what came.
    pub(crate) fn settle(&mut self, now: UnixMillis) -> Result<(), Failure> {
        let under_way = self.under_way.take().ok_or_else(nothing_under_way)?;
        let settled = self.running.with_dependent_mut(|_, it| under_way.settle(it, now));
        self.allowance = settled.map_err(Failure::unavailable)?;
        Ok(())
    }

    fn not_under_way(&self) -> Result<(), Failure> {
        match self.under_way {
            None => Ok(()),
            Some(_) => Err(Failure::misuse("a fetch is under way: settle it first")),
        }
    }

    fn supply(&mut self, need: usize, what: Supplied<'_>, now: UnixMillis) -> Result<(), Failure> {
        let need = self.needs.get(need).cloned();
        let need =
            need.ok_or_else(|| Failure::misuse("the last step has no need of that index"))?;
        // Authentic lists are for the cache of an idgate_fetcher; a caller that supplies them has none.
        let _ = self.running.with_dependent_mut(|_, it| it.supply(&need, what, now));
        Ok(())
    }
}

fn nothing_under_way() -> Failure {
    Failure::misuse("no fetch is under way")
}

fn need_json(need: &Need) -> Value {
    let kind = match need {
        Need::StatusList { .. } => "status_list",
        Need::Crl { .. } => "crl",
        Need::IdentifierList { .. } => "identifier_list",
        _ => "other",
    };
    let otherwise = need.accept_otherwise();
    json!({
        "kind": kind, "uri": need.uri(), "accept": need.accept(), "accept_otherwise": otherwise,
    })
}

fn done(decision: Decision) -> idgate_step {
    let (reply, redirect_uri) = match &decision.reply {
        WalletReply::Accepted { redirect_uri, .. } => ("accepted", redirect_uri.as_deref()),
        WalletReply::ErrorNoted { redirect_uri, .. } => ("error_noted", redirect_uri.as_deref()),
        _ => ("refused", None),
    };
    let session = &decision.transition.session;
    let settled_at = session.settled_at().unwrap_or(session.created_at());
    let json = json!({
        "reply": reply,
        "body": decision.reply.body().and_then(|body| serde_json::from_str::<Value>(&body).ok()),
        "redirect_uri": redirect_uri,
        "status": session.status_at(settled_at).as_str(),
        "reason": session.reason_at(settled_at).map(|reason| reason.as_str()),
        "wallet_error": session.wallet_error().map(|error| error.as_str()),
        "report": report::report(&decision.report),
    });
    let transition = idgate_transition::give(decision.transition);
    let kind = idgate_step_kind::IDGATE_STEP_DONE;
    idgate_step { kind, transition, json: give(json.to_string()) }
}
