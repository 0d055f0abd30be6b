//! A verification in progress: of a wallet's answer, or of one presentation.

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use idgate::{Allowance, Asked, BlockingFetcher, UnderWay};
use idgate_core::Answer;
use idgate_core::UnixMillis;
use idgate_core::verify::WalletReply;
use idgate_core::{Decision, Need, PresentationStep, Step, Supplied, Verification};
use self_cell::self_cell;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::answer::{Owned, Way, idgate_answer};
use crate::boundary::{boundary, put};
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input};
use crate::handles;
use crate::presented::Presented;
use crate::report;
use crate::session::{Kept, SessionHandle, idgate_session};
use crate::status::idgate_status;
use crate::step::{StepHandle, idgate_kind, idgate_step};
use crate::verifier::{VerifierHandle, idgate_verifier};

/// A verification in progress: of a wallet's answer, or of one presentation.
#[allow(non_camel_case_types)]
pub struct idgate_verification {
    _private: [u8; 0],
}

struct Inputs {
    verifier: Arc<VerifierHandle>,
    session: Arc<SessionHandle>,
    answer: Owned,
}

self_cell!(
    struct Answered {
        owner: Inputs,
        #[covariant]
        dependent: Verification,
    }
);

/// A verification of either kind. Both have the same steps.
enum Subject {
    Answer(Answered),
    Presentation(Presented),
}

pub(crate) struct VerificationHandle(Mutex<State>);

handles::named!(VerificationHandle => idgate_verification, "verification");

pub(crate) struct State {
    subject: Subject,
    /// The needs of the last step, in order.
    needs: Vec<Need>,
    /// Their fetches.
    under_way: Option<UnderWay>,
    /// The time that is left for all rounds of fetches.
    allowance: Allowance,
    done: bool,
}

/// Starts to verify a wallet's answer. IDGATE_BAD_RESPONSE: store nothing, and send the error's reply.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_begin(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    answer: *const idgate_answer,
    now_ms: u64,
    out: *mut *mut idgate_verification,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let answer = unsafe { Owned::read(answer)? };
        let inputs = Inputs { verifier, session, answer };
        let answered = Answered::try_new(inputs, |inputs| begin(inputs, UnixMillis(now_ms)))?;
        put(out, || Ok(handles::make(VerificationHandle::new(Subject::Answer(answered)))))
    })
}

fn begin(inputs: &Inputs, now: UnixMillis) -> Result<Verification<'_>, Failure> {
    let (verifier, session, body) =
        (&inputs.verifier.verifier, &inputs.session.0, &inputs.answer.body);
    let answer = match &inputs.answer.way {
        Way::Posted { to, content_type } => {
            Answer { to, content_type: content_type.as_deref(), body }
        }
        Way::Page => Answer::dc_api(body),
    };
    Ok(verifier.begin(session, answer, &mut OsEntropy, now)?)
}

/// Runs until the verification is decided, or needs the network. IDGATE_BAD_RESPONSE: the session no longer accepts an
/// answer; store nothing, and send the error's reply. IDGATE_REFUSED: a presentation outside a session was refused; the
/// code is the reason.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_step(
    verification: *const idgate_verification,
    out: *mut *mut idgate_step,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        put(out, || Ok(handles::make(verification.state()?.step()?)))
    })
}

/// Takes the body that was fetched for the need with that index in the last step, at `now_ms`. Commit the transition of
/// the step before. A `body` with a `ptr` of NULL says that nothing came in time.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_supply(
    verification: *const idgate_verification,
    need: usize,
    body: idgate_str,
    now_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { input(body, "body")? };
        let what = match body.ptr.is_null() {
            true => Supplied::Unavailable,
            false => Supplied::Bytes(bytes),
        };
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

impl VerificationHandle {
    fn new(subject: Subject) -> Self {
        let (needs, under_way, allowance) = (Vec::new(), None, Allowance::of_one_answer());
        Self(Mutex::new(State { subject, needs, under_way, allowance, done: false }))
    }

    /// A verification of one presentation.
    pub(crate) fn of_presentation(presented: Presented) -> Self {
        Self::new(Subject::Presentation(presented))
    }

    /// Locks the verification. After a panic it has ended, so that no decision uses unfinished data.
    pub(crate) fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.0.lock().map_err(|_| Failure::internal("an earlier fault ended this verification"))
    }
}

impl State {
    fn step(&mut self) -> Result<StepHandle, Failure> {
        if self.done {
            return Err(Failure::misuse("the verification is done already"));
        }
        self.not_under_way()?;
        let (transition, needs) = match &mut self.subject {
            Subject::Answer(answered) => {
                match answered.with_dependent_mut(|_, verification| verification.step())? {
                    Step::Need { hold, needs } => (Some(Kept::of(*hold)), needs),
                    Step::Done(decision) => {
                        self.end();
                        return Ok(decided(*decision));
                    }
                }
            }
            Subject::Presentation(presented) => match presented.step() {
                PresentationStep::Need(needs) => (None, needs),
                PresentationStep::Done(outcome) => {
                    let told = presented.told(*outcome);
                    self.end();
                    let (kind, json) = (idgate_kind::IDGATE_STEP_DONE, told?);
                    return Ok(StepHandle { kind, transition: None, json, reply: None });
                }
            },
        };
        let json = json!({ "needs": needs.iter().map(need_json).collect::<Vec<_>>() });
        self.needs = needs;
        let (kind, json) = (idgate_kind::IDGATE_STEP_NEED, Zeroizing::new(json.to_string()));
        Ok(StepHandle { kind, transition, json, reply: None })
    }

    fn end(&mut self) {
        self.done = true;
        self.needs.clear();
    }

    /// Answers needs of the last step from the cache of `fetcher`. Returns whether it answered any.
    pub(crate) fn recall(&mut self, fetcher: &BlockingFetcher, now: UnixMillis) -> bool {
        let needs = &self.needs;
        match &mut self.subject {
            Subject::Answer(it) => it.with_dependent_mut(|_, it| fetcher.recall(it, needs, now)),
            Subject::Presentation(it) => it.ask(|it| fetcher.recall(it, needs, now)),
        }
    }

    /// Starts to fetch the needs of the last step.
    pub(crate) fn fetch(&mut self, fetcher: &BlockingFetcher) -> Result<(), Failure> {
        self.not_under_way()?;
        if self.needs.is_empty() {
            return Err(Failure::misuse("the last step needs nothing"));
        }
        let needs = self.needs.clone();
        let asked = match &mut self.subject {
            Subject::Answer(it) => Asked::all(it.borrow_dependent(), needs),
            Subject::Presentation(it) => it.ask(|it| Asked::all(it, needs)),
        };
        let begun = fetcher.begin(asked, self.allowance).map_err(Failure::unavailable)?;
        self.under_way = Some(begun);
        Ok(())
    }

    /// Waits for the fetches. Returns whether all of them ended.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<bool, Failure> {
        let under_way = self.under_way.as_mut();
        Ok(under_way.ok_or_else(nothing_under_way)?.wait(patience))
    }

    /// Answers the needs with the results of the fetches.
    pub(crate) fn settle(&mut self, now: UnixMillis) -> Result<(), Failure> {
        let under_way = self.under_way.take().ok_or_else(nothing_under_way)?;
        let settled = match &mut self.subject {
            Subject::Answer(it) => it.with_dependent_mut(|_, it| under_way.settle(it, now)),
            Subject::Presentation(it) => it.ask(|it| under_way.settle(it, now)),
        };
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
            need.ok_or_else(|| Failure::misuse("the last step has no need with that index"))?;
        // Authentic lists go into the cache of an idgate_fetcher. A caller that supplies bodies has no such cache.
        match &mut self.subject {
            Subject::Answer(it) => {
                it.with_dependent_mut(|_, it| drop(it.supply(&need, what, now)));
            }
            Subject::Presentation(it) => it.ask(|it| drop(it.supply(&need, what, now))),
        }
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

fn decided(decision: Decision) -> StepHandle {
    let (reply, redirect_uri) = match &decision.reply {
        WalletReply::Accepted { redirect_uri, .. } => ("accepted", redirect_uri.as_deref()),
        WalletReply::ErrorNoted { redirect_uri, .. } => ("error_noted", redirect_uri.as_deref()),
        _ => ("refused", None),
    };
    let session = &decision.transition.session;
    let settled_at = session.settled_at().unwrap_or(session.created_at());
    let json = json!({
        "reply": reply,
        "redirect_uri": redirect_uri,
        "status": session.status_at(settled_at).as_str(),
        "reason": session.reason_at(settled_at).map(|reason| reason.as_str()),
        "wallet_error": session.wallet_error().map(|error| error.as_str()),
        "report": report::report(&decision.report),
    });
    let (kind, reply) = (idgate_kind::IDGATE_STEP_DONE, Some(decision.reply()));
    let (transition, json) =
        (Some(Kept::of(decision.transition)), Zeroizing::new(json.to_string()));
    StepHandle { kind, transition, json, reply }
}
