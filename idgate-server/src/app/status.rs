//! Revocation status of presented credentials. It is taken from cached lists if possible. Otherwise
//! the session is held while the sources are asked, and their lists are cached (decisions 7 and 8).

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
use idgate_store::Basis;

/// Pause between two attempts to release a hold.
const RELEASE_AGAIN: Duration = Duration::from_millis(250);
/// How long the wallet's 503 waits for the release.
const RELEASE_WAIT: Duration = Duration::from_secs(1);

impl App {
    /// Steps from `first` to the verdict. Each turn answers at least one need, so the loop ends.
    /// `held` is set to the held session once the hold is committed. Also returns whether a status
    /// was fetched; `None` if the decision needed none.
    ///
    /// # Errors
    /// There is no verdict: the session was settled in the meantime, or the gateway could not ask.
    pub(super) async fn decide(
        &self,
        verification: &mut Verification<'_>,
        first: Step,
        scope: &Scope,
        (basis, held): (Basis, &mut Option<Session>),
    ) -> Result<(Decision, Option<bool>), AppError> {
        let mut step = first;
        // The signer of a status list is known only once the list is there, so there may be two
        // rounds of fetches.
        let mut allowance = self.allowance;
        let mut waited = None;
        loop {
            let (hold, needs) = match step {
                Step::Done(decision) => return Ok((*decision, waited)),
                Step::Need { hold, needs } => (hold, needs),
            };
            waited.get_or_insert(false);
            if !self.fetcher.recall(verification, &needs, scope, self.now()) {
                if held.is_none() {
                    let session = hold.session.clone();
                    self.advance(basis, *hold).await?;
                    *held = Some(session);
                }
                waited = Some(true);
                self.ask(verification, needs, scope, &mut allowance).await?;
            }
            step = verification.step()?;
        }
    }

    /// Answers each of `needs` after the hold is committed.
    ///
    /// # Errors
    /// A need could not be answered by a fault of the gateway.
    async fn ask(
        &self,
        verification: &mut Verification<'_>,
        needs: Vec<Need>,
        scope: &Scope,
        allowance: &mut Allowance,
    ) -> Result<(), AppError> {
        let mut span = Span::begin("fetch status", Kind::Client);
        span.set(Key::Sources, || i64::try_from(needs.len()).ok().map(Value::Number));
        // Usually of one issuer. Only the host is recorded: an issuer may have a separate list for
        // each person.
        span.set(Key::Host, || needs.first().and_then(|need| Value::host_of(need.uri())));
        let asked = Asked::all(verification, needs);
        let outcomes = span.around(self.fetcher.fetch(asked, allowance)).await;
        drop(span);
        let now = self.now();
        let settled = computing(true, || self.fetcher.settle(verification, &outcomes, scope, now));
        settled.map_err(|not_asked| AppError::Unavailable(not_asked.to_string()))
    }

    /// Releases a hold whose verification ended without a verdict by a fault of the gateway, so
    /// that the same answer is accepted again. The same fault may prevent the release, so it is
    /// retried until the lease ends; then the session is open anyway.
    pub(super) async fn release(self: &Arc<Self>, held: Session) {
        let app = self.clone();
        let releasing = tokio::spawn(boxed(async move {
            let lease = Stopwatch::new();
            while lease.elapsed_us() < VERIFYING_LEASE_MS.saturating_mul(1000) {
                let Some(released) = held.released(app.now()) else { return };
                // If another change came first, there is nothing to release.
                if app.store.commit_own(released).await.is_ok() {
                    return;
                }
                tokio::time::sleep(RELEASE_AGAIN).await;
            }
        }));
        // The client that is told to try again should find the session open, if at all possible.
        let _ = tokio::time::timeout(RELEASE_WAIT, releasing).await;
    }
}
