//! A wallet's answer: load, verify, commit, and only then reply (decisions 6).

use idgate_core::error::ResponseError;
use idgate_core::ids::SessionId;
use idgate_core::response::WalletResponse;
use idgate_core::session::Session;
use idgate_core::verify::{Decision, Step, WalletReply};

use super::{App, AppError};
use crate::clock::Stopwatch;
use crate::entropy::OsEntropy;
use crate::store::Committed;

/// A verdict that is not stored yet, and how long it took to reach.
#[derive(Debug)]
pub struct Verdict {
    decision: Decision,
    processing_us: u64,
}

impl App {
    /// Judges an answer without storing anything: pure computation after one read.
    ///
    /// # Errors
    /// The session is closed or unknown, `state` is wrong, or the answer is not well-formed.
    pub fn judge_response(
        &self,
        id: &SessionId,
        response: WalletResponse<'_>,
    ) -> Result<Verdict, AppError> {
        match self.store.session(id)? {
            Some(session) => self.judge(&session, response),
            None => {
                Err(response.check_syntax().err().unwrap_or(ResponseError::SessionClosed).into())
            }
        }
    }

    /// Stores a verdict. Of any number of answers to one session exactly one gets a reply.
    ///
    /// # Errors
    /// Another answer settled the session first, or it is gone.
    pub async fn settle(&self, verdict: Verdict) -> Result<WalletReply, AppError> {
        let Decision { transition, reply, report, .. } = verdict.decision;
        if let Some(error) = report.error() {
            // Names the check and its clause, never what was presented.
            tracing::info!(session_id = %transition.session.id(), %error, "refused");
        }
        match self.store.commit(transition, Some(verdict.processing_us)).await? {
            Committed::Yes => Ok(reply),
            Committed::LostRace => Err(ResponseError::SessionClosed.into()),
        }
    }

    fn judge(&self, session: &Session, response: WalletResponse<'_>) -> Result<Verdict, AppError> {
        let verifier = self.verifier()?;
        let watch = Stopwatch::new();
        let mut verification = verifier.begin(session, response, &mut OsEntropy, self.now())?;
        match verification.step()? {
            Step::Done(decision) => {
                Ok(Verdict { decision: *decision, processing_us: watch.elapsed_us() })
            }
            _ => Err(AppError::Fault("the verification asks for something unknown".into())),
        }
    }
}
