//! Status of the presented credentials: from what is known if possible; else the session is held,
//! the sources are asked, and what they said is remembered (decisions 7 and 8).

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use idgate::{Allowance, Asked, Scope};
use idgate_core::limits::VERIFYING_LEASE_MS;
use idgate_core::{Decision, Need, Session, Step, Verification};

use super::wallet::computing;
use super::{App, AppError};
use idgate_base::clock::Stopwatch;
use idgate_base::spans::{Key, Kind, Span, Value};
use idgate_base::task::boxed;

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
        let mut allowance = self.allowance;
        // `None`: nothing was asked for; else whether anything was fetched.
        let mut waited = None;
        loop {
            let (hold, needs) = match step {
                Step::Done(decision) => {
                    waited.into_iter().for_each(|it| self.store.telemetry().status_asked(it));
                    return Ok(*decision);
                }
                Step::Need { hold, needs } => (hold, needs),
            };
            waited.get_or_insert(false);
            if !self.fetcher.recall(verification, &needs, scope, self.now()) {
                if held.is_none() {
                    let session = hold.session.clone();
                    self.advance(*hold).await?;
                    *held = Some(session);
                }
                waited = Some(true);
                self.ask(verification, needs, scope, &mut allowance).await?;
            }
            step = verification.step()?;
        }
    }

    /// Answers each of `needs`, after the hold is committed.
    ///
    /// # Errors
    /// One could not be asked by a fault of our own.
    async fn ask(
        &self,
        verification: &mut Verification<'_>,
        needs: Vec<Need>,
        scope: &Scope,
        allowance: &mut Allowance,
    ) -> Result<(), AppError> {
        let mut span = Span::begin("fetch status", Kind::Client);
        span.set(Key::Sources, || i64::try_from(needs.len()).ok().map(Value::Number));
        // Of one issuer as a rule. Which list it is stays here: an issuer may have one for each person.
        span.set(Key::Host, || needs.first().and_then(|need| Value::host_of(need.uri())));
        let asked = Asked::all(verification, needs);
        let outcomes = span.around(self.fetcher.fetch(asked, allowance)).await;
        drop(span);
        let now = self.now();
        let settled = computing(true, || self.fetcher.settle(verification, &outcomes, scope, now));
        settled.map_err(|not_asked| AppError::Unavailable(not_asked.to_string()))
    }

    /// Takes back a hold whose verification came to no verdict by a fault of our own, so that the
    /// same answer is taken again. What is in the way of the verdict may be in the way of this, too:
    /// it is tried until the lease is over, when the session is open again by itself.
    pub(super) async fn release(self: &Arc<Self>, held: Session) {
        let app = self.clone();
        let releasing = tokio::spawn(boxed(async move {
            let lease = Stopwatch::new();
            while lease.elapsed_us() < VERIFYING_LEASE_MS.saturating_mul(1000) {
                let Some(released) = held.released(app.now()) else { return };
                // A lost race leaves nothing to take back.
                if app.store.commit_own(released).await.is_ok() {
                    return;
                }
                tokio::time::sleep(RELEASE_AGAIN).await;
            }
        }));
        // Whoever is told to come again finds the session open, if that is possible at all.
        let _ = tokio::time::timeout(RELEASE_WAIT, releasing).await;
    }
}
