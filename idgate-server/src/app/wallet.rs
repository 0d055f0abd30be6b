//! A wallet's answer: load, verify, commit, and only then reply (decisions 6).

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use idgate::Scope;
use idgate_core::error::NotAnAnswer;
use idgate_core::verify::WalletReply;
use idgate_core::{
    Answer, Decision, Session, SessionId, Step, Transition, UnixMillis, Verification,
};
use tokio::runtime::{self, RuntimeFlavor};

use super::explanation::{explain, explain_accepted};
use super::handle::Found;
use super::{Admission, App, AppError, Handle};
use crate::limits::LARGE_ANSWER_BYTES;
use crate::panics::{Panicked, unpanicked};
use idgate_base::entropy::OsEntropy;
use idgate_base::spans::{Key, Kind, Span, Stage, Value, stage, stage_of_each};
use idgate_store::{Basis, Committed, Write};

impl App {
    /// Checks, before a body is read, that this session expects an answer.
    ///
    /// # Errors
    /// The session is unknown, being verified, or settled.
    pub async fn expects_answer(&self, handle: &Handle) -> Result<(), AppError> {
        let session = self.named(handle).await?;
        let session = session.ok_or(AppError::from(NotAnAnswer::SessionClosed))?;
        self.refuse_closed(&session)
    }

    /// Verifies an answer and stores the outcome. Of several answers to one session, exactly one is
    /// evaluated.
    ///
    /// The future must be run to its end: if it is dropped midway, the session stays VERIFYING
    /// until its lease ends.
    ///
    /// # Errors
    /// The session is unknown, closed or settled in the meantime, `state` is wrong, or the answer
    /// is malformed or not admitted. Or the gateway cannot finish in time, or panics after the
    /// hold; then the session stays or becomes as open as it was.
    pub async fn respond(
        self: &Arc<Self>,
        handle: &Handle,
        content_type: Option<&str>,
        body: &[u8],
        admit: impl FnOnce(SessionId) -> Admission + Send,
    ) -> Result<WalletReply, AppError> {
        let answer = Answer { to: handle.as_str(), content_type, body };
        let (mut admit, arrived) = (Some(admit), self.now());
        let mut recalled = self.recalled(handle);
        loop {
            let found = match recalled.take() {
                Some(found) => found,
                None => self.found(handle).await?.ok_or(NotAnAnswer::SessionClosed)?,
            };
            let outcome = self.respond_by(&found, answer, (&mut admit, arrived)).await;
            if let Err(AppError::OutOfDate) = outcome {
                continue;
            }
            if let Err(AppError::Response(_) | AppError::TooMany(_)) = outcome
                && found.basis.is_recalled()
            {
                // The copy may be out of date: a closed session is reported first.
                self.expects_answer(handle).await?;
            }
            return outcome;
        }
    }

    async fn respond_by(
        self: &Arc<Self>,
        Found { session, verifier, basis }: &Found,
        answer: Answer<'_>,
        (admit, arrived): (&mut Option<impl FnOnce(SessionId) -> Admission + Send>, UnixMillis),
    ) -> Result<WalletReply, AppError> {
        // An answer that arrived in time may be decided twice, the second time after the expiry.
        let now = Some(self.now()).filter(|now| session.accepts_response(*now)).unwrap_or(arrived);
        self.refuse_closed_at(session, now)?;
        let begin = || verifier.begin(session, answer, &mut OsEntropy, now);
        let admission = async {
            match admit.take() {
                Some(admit) => admit(session.id().clone()).await,
                None => Ok(()),
            }
        };
        self.evaluate((session, *basis), answer.body.len(), begin, admission).await
    }

    /// Starts a verification and stores its outcome. A readable answer is evaluated once
    /// `admission` admits it.
    pub(super) async fn evaluate<'v>(
        self: &Arc<Self>,
        (session, basis): (&'v Session, Basis),
        bytes: usize,
        begin: impl FnOnce() -> Result<Verification<'v>, NotAnAnswer>,
        admission: impl Future<Output = Result<(), AppError>> + Send,
    ) -> Result<WalletReply, AppError> {
        let began = self.clock.steady();
        let mut verifying = Span::begin("verify", Kind::Internal);
        asked(&mut verifying, session);
        let is_large = bytes > LARGE_ANSWER_BYTES;
        let read = computing(is_large, || stage(Stage::Verify, begin));
        let mut verification = read.inspect_err(|error| note_error(&mut verifying, error))?;
        let scope = verification.scope();
        admission.await?;
        let first = computing(is_large, || stage(Stage::Verify, || verification.step()));
        let first = first.inspect_err(|error| note_error(&mut verifying, error))?;
        let mut held = None;
        let concluded = {
            let by = (basis, &mut held);
            let concluding =
                pin!(self.conclude(&mut verification, first, &scope, by, began, verifying));
            unpanicked(concluding).await
        };
        let outcome = match concluded {
            Ok(outcome) => outcome,
            Err(Panicked) => Err(AppError::Fault("panic".into())),
        };
        match (&outcome, held) {
            // The session is settled, held by another answer, or deleted.
            (Ok(_) | Err(AppError::Response(_)), _) | (_, None) => {}
            (Err(_), Some(held)) => self.release(held).await,
        }
        outcome
    }

    /// Reaches the verdict and stores it. Nothing is decided until the verdict is handed to the
    /// store.
    async fn conclude(
        &self,
        verification: &mut Verification<'_>,
        first: Step,
        scope: &Scope,
        (basis, held): (Basis, &mut Option<Session>),
        began: Duration,
        mut verifying: Span,
    ) -> Result<WalletReply, AppError> {
        let (decision, asked) = {
            // Pinned, because passing a future by value makes the outer one at least twice as
            // large.
            let deciding = pin!(self.decide(verification, first, scope, (basis, held)));
            verifying.around(stage_of_each(Stage::Verify, deciding)).await?
        };
        verifying.set(Key::Outcome, || Some(outcome(&decision)));
        drop(verifying);
        let taken = self.clock.steady().saturating_sub(began);
        if taken > self.verification_time {
            return Err(AppError::Unavailable("the verification took too long".into()));
        }
        let processing_us = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
        let accepted = self.observer.as_ref().and_then(|observer| {
            let session = &decision.transition.session;
            Some((observer, session.id().clone(), explain_accepted(session, &decision.report)?))
        });
        let (unknown, refused) = (accepted_unknown(&decision), refused(&decision));
        // The hold has shown that memory was right.
        let basis = if held.is_some() { Basis::default() } else { basis };
        let (reply, stored) = self.store_decision(basis, decision, processing_us)?;
        applied(basis, stored.await?)?;
        asked.into_iter().for_each(|asked| self.store.telemetry().status_asked(asked));
        if let Some((session_id, error)) = refused {
            // Names the check and its clause, never the presentation.
            tracing::info!(%session_id, %error, "refused");
        }
        if let Some(unknown) = unknown {
            self.count_unknown(&unknown);
        }
        if let Some((observer, session_id, report)) = accepted {
            observer.accepted(&session_id, report);
        }
        Ok(reply)
    }

    /// Counts credentials that were accepted although their status is unknown.
    fn count_unknown(
        &self,
        AcceptedUnknown { session_id, issuer_ids, credentials }: &AcceptedUnknown,
    ) {
        tracing::warn!(
            session_id = session_id.as_str(),
            issuer_ids,
            credentials,
            "accepted credentials whose revocation status is unknown"
        );
        let telemetry = self.store.telemetry();
        telemetry.unknown_accepted(u64::try_from(*credentials).unwrap_or(u64::MAX));
    }

    pub(super) fn refuse_closed(&self, session: &Session) -> Result<(), AppError> {
        self.refuse_closed_at(session, self.now())
    }

    fn refuse_closed_at(&self, session: &Session, now: UnixMillis) -> Result<(), AppError> {
        // Expiry depends on the time.
        self.check_clock()?;
        if session.accepts_response(now) {
            return Ok(());
        }
        Err(NotAnAnswer::SessionClosed.into())
    }

    /// Stores a transition that the reply depends on.
    pub(super) fn advance(
        &self,
        basis: Basis,
        transition: Transition,
    ) -> impl Future<Output = Result<(), AppError>> {
        let stored = self.store.commit_by(basis, transition, None);
        async move { applied(basis, stored.await?) }
    }

    /// Hands the verdict to the store, and returns the wallet's reply once it is stored.
    fn store_decision(
        &self,
        basis: Basis,
        decision: Decision,
        processing_us: u64,
    ) -> Result<(WalletReply, Write<'_, Committed>), AppError> {
        // A verdict reached while the clock was being set does not count.
        self.check_clock()?;
        let Decision { transition, reply, report, .. } = decision;
        let stored = match explain(&transition.session, &report) {
            None => self.store.commit_by(basis, transition, Some(processing_us)),
            Some(explained) => {
                self.store.commit_refused(basis, transition, processing_us, explained)
            }
        };
        Ok((reply, stored))
    }
}

/// Span attributes of a session: only fixed words, nothing of the request's content.
fn asked(span: &mut Span, session: &Session) {
    span.set(Key::Format, || {
        let credentials = session.request().credentials();
        let mut formats: Vec<_> = credentials.iter().map(|it| it.format().name()).collect();
        formats.sort_unstable();
        formats.dedup();
        Some(Value::Words(formats))
    });
    span.set(Key::Profile, || Some(Value::Word(session.invitation().profile().name())));
}

fn note_error(span: &mut Span, error: &NotAnAnswer) {
    span.set(Key::Outcome, || Some(Value::Word(error.code().as_str())));
}

fn outcome(decision: &Decision) -> Value {
    let settlement = decision.transition.session.settlement();
    Value::Word(match settlement {
        Some(settlement) => settlement.reason.map_or("verified", |reason| reason.as_str()),
        None => "open",
    })
}

/// The session and the error of a rejected answer, for the log.
fn refused(decision: &Decision) -> Option<(SessionId, String)> {
    let error = decision.report.error()?;
    Some((decision.transition.session.id().clone(), error.to_string()))
}

/// Credentials that were accepted although their status is unknown.
struct AcceptedUnknown {
    session_id: SessionId,
    /// The issuers of all credentials in the request.
    issuer_ids: String,
    credentials: usize,
}

/// For a verified answer.
fn accepted_unknown(decision: &Decision) -> Option<AcceptedUnknown> {
    let report = &decision.report;
    let credentials = report.credentials.iter().filter(|_| report.error().is_none());
    let credentials = credentials.filter(|credential| credential.accepted_unknown_status).count();
    let session = &decision.transition.session;
    let asked = session.request().credentials().iter();
    let issuers = || asked.map(|asked| asked.issuer_id().as_str()).collect::<BTreeSet<_>>();
    (credentials > 0).then(|| AcceptedUnknown {
        session_id: session.id().clone(),
        issuer_ids: issuers().into_iter().collect::<Vec<_>>().join(" "),
        credentials,
    })
}

fn applied(basis: Basis, committed: Committed) -> Result<(), AppError> {
    match committed {
        Committed::Yes => Ok(()),
        Committed::LostRace if basis.is_recalled() => Err(AppError::OutOfDate),
        // Another answer came first, the lease was lost, or the session was deleted.
        Committed::LostRace => Err(NotAnAnswer::SessionClosed.into()),
    }
}

/// Runs `work`, which only computes. If it is `large`, other requests leave this thread first.
pub(super) fn computing<T>(large: bool, work: impl FnOnce() -> T) -> T {
    match runtime::Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread if large => tokio::task::block_in_place(work),
        _ => work(),
    }
}
