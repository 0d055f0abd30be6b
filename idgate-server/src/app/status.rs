//! Status of the presented credentials: from what is known if possible; else the session is held,
//! the sources are asked, and what they said is remembered (decisions 7 and 8).

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use idgate_core::verify::{Decision, Need, Step, Supplied, Verification};

use super::wallet::computing;
use super::{App, AppError};
use crate::work::fetch::Scope;

impl App {
    /// Steps from `first` to the verdict. Every turn answers a need, so it ends.
    pub(super) async fn decide(
        &self,
        verification: &mut Verification<'_>,
        first: Step,
        scope: &Scope,
    ) -> Result<Decision, AppError> {
        let mut step = first;
        let mut held = false;
        loop {
            let (hold, needs) = match step {
                Step::Done(decision) => return Ok(*decision),
                Step::Need { hold, needs } => (hold, needs),
                _ => {
                    return Err(AppError::Fault(
                        "the verification asks for what is unknown".into(),
                    ));
                }
            };
            if held || !self.answer_from_known(verification, &needs, scope) {
                if !held {
                    self.advance(*hold, None).await?;
                    held = true;
                }
                self.ask(verification, needs, scope).await;
            }
            step = verification.step()?;
        }
    }

    /// `false`: nothing that is known answers any of `needs`.
    fn answer_from_known(
        &self,
        verification: &mut Verification<'_>,
        needs: &[Need],
        scope: &Scope,
    ) -> bool {
        let now = self.now();
        let mut served = false;
        for need in needs {
            for source in self.fetcher.fresh(need, scope, now) {
                served |= verification.reuse(&source);
            }
        }
        served
    }

    /// Answers each of `needs`, after the hold is committed.
    async fn ask(&self, verification: &mut Verification<'_>, needs: Vec<Need>, scope: &Scope) {
        let fetched = self.fetcher.fetch(needs).await;
        let now = self.now();
        // A list of a few kilobytes may inflate to megabytes.
        computing(true, || {
            for (need, body) in &fetched {
                match body {
                    Some(body) => {
                        let bytes = Supplied::Bytes(body.as_ref());
                        let authentic = verification.supply(need, bytes, now);
                        self.fetcher.keep(need, scope, authentic, now);
                    }
                    None => {
                        for source in self.fetcher.last_good(need, scope, now) {
                            verification.reuse(&source);
                        }
                        // For whoever was not served; and the verdict then builds on the hold.
                        verification.supply(need, Supplied::Unavailable, now);
                    }
                }
            }
        });
    }
}
