//! Status of the presented credentials: from what is known if possible; else the session is held,
//! the sources are asked, and what they said is remembered (decisions 7 and 8).

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use idgate_core::limits::VERIFYING_LEASE_MS;
use idgate_core::session::Session;
use idgate_core::verify::{Decision, Need, Step, Supplied, Verification, VerifiedSource};
use url::Url;

use super::wallet::computing;
use super::{App, AppError};
use crate::clock::Stopwatch;
use crate::work::fetch::{Allowance, Came, Scope};

/// Between two tries to take a hold back.
const RELEASE_AGAIN: Duration = Duration::from_millis(250);
/// How long the wallet's 503 waits for it.
const RELEASE_WAIT: Duration = Duration::from_secs(1);

impl App {
    /// Steps from `first` to the verdict. Every turn answers a need, so it ends. `held` is set to
    /// the session of the hold once that is committed.
    ///
    /// # Errors
    /// There is no verdict: the session was settled meanwhile, or the gateway could not ask.
    pub(super) async fn decide(
        &self,
        verification: &mut Verification<'_>,
        first: Step,
        scope: &Scope,
        held: &mut Option<Session>,
    ) -> Result<Decision, AppError> {
        let mut step = first;
        // Who signed a status list is known once it is there, so there may be two rounds of fetches.
        let mut allowance = Allowance::of_one_answer();
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
            if !self.answer_from_known(verification, &needs, scope) {
                if held.is_none() {
                    let session = hold.session.clone();
                    self.advance(*hold, None).await?;
                    *held = Some(session);
                }
                self.ask(verification, needs, scope, &mut allowance).await?;
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
    ///
    /// # Errors
    /// One could not be asked by a fault of our own. Not even the last good copy serves then: nobody
    /// knows whether its source is down.
    async fn ask(
        &self,
        verification: &mut Verification<'_>,
        needs: Vec<Need>,
        scope: &Scope,
        allowance: &mut Allowance,
    ) -> Result<(), AppError> {
        let asked = needs.into_iter().map(|need| {
            let issuers = verification.issuers_of(&need).into_iter().cloned().collect();
            (need, issuers)
        });
        let fetched = self.fetcher.fetch(asked.collect(), allowance).await;
        let now = self.now();
        // A list of a few kilobytes may inflate to megabytes.
        computing(true, || {
            for (need, came) in &fetched {
                match came {
                    Came::Body(body) => {
                        let bytes = Supplied::Bytes(body.as_ref());
                        let authentic = verification.supply(need, bytes, now);
                        authentic.iter().for_each(warn_of_missing_number);
                        self.fetcher.keep(need, scope, authentic, now);
                    }
                    Came::Nothing => {
                        for source in self.fetcher.last_good(need, scope, now) {
                            verification.reuse(&source);
                        }
                        // For whoever was not served; and the verdict then builds on the hold.
                        verification.supply(need, Supplied::Unavailable, now);
                    }
                    Came::NotAsked => {}
                }
            }
        });
        match fetched.iter().all(|(_, came)| !matches!(came, Came::NotAsked)) {
            true => Ok(()),
            false => Err(AppError::Unavailable("a status source could not be asked".into())),
        }
    }

    /// Takes back a hold whose verification came to no verdict by a fault of our own, so that the
    /// same answer is taken again. What is in the way of the verdict may be in the way of this, too:
    /// it is tried until the lease is over, when the session is open again by itself.
    pub(super) async fn release(self: &Arc<Self>, held: Session) {
        let app = self.clone();
        let releasing = tokio::spawn(async move {
            let lease = Stopwatch::new();
            while lease.elapsed_us() < VERIFYING_LEASE_MS.saturating_mul(1000) {
                let Some(released) = held.released(app.now()) else { return };
                // A lost race leaves nothing to take back.
                if app.store.commit_own(released).await.is_ok() {
                    return;
                }
                tokio::time::sleep(RELEASE_AGAIN).await;
            }
        });
        // Whoever is told to come again finds the session open, if that is possible at all.
        let _ = tokio::time::timeout(RELEASE_WAIT, releasing).await;
    }
}

/// RFC 5280 5.2.3 demands a CRLNumber; nothing here depends on it.
fn warn_of_missing_number(source: &VerifiedSource) {
    if let VerifiedSource::Crl { uri, crl } = source
        && !crl.is_numbered()
    {
        let url = Url::parse(uri).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        tracing::warn!(host, "a CRL without CRLNumber was taken");
    }
}
