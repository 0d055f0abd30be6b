//! Takes an answer to its stored verdict, and fetches everything that it needs.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::any::Any;
use std::fmt;
use std::future::{Future as _, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use idgate_core::error::NotAnAnswer;
use idgate_core::verify::Scope;
use idgate_core::{
    Decision, Expected, Need, PresentationStep, Refused, Session, Step, Transition, Trust,
    Verification, Verified,
};

use crate::clock;
use crate::fetch::{Fetcher, NotAsked};
use crate::flights::{Allowance, Asked};
use crate::questions::Questions;
use crate::store::{Committed, Store};

/// The reason why there is no decision.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotDecided<E> {
    /// The session takes no more answers: it was settled in the meantime, or is being settled.
    Response(NotAnAnswer),
    /// The store failed.
    Store(E),
    /// A source could not be fetched because of a fault of this machine. The hold was released, so
    /// that the same answer is accepted again: ask the wallet to try again.
    NotAsked(NotAsked),
}

impl<E: fmt::Display> fmt::Display for NotDecided<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(error) => error.fmt(f),
            Self::Store(error) => write!(f, "the store failed: {error}"),
            Self::NotAsked(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for NotDecided<E> {}

impl Fetcher {
    /// Takes a verification to its decision, and stores it. Before the first fetch it stores the
    /// hold. It fetches all needs of a round in parallel, and uses cached sources.
    ///
    /// Reply to the wallet after this returns. Run it to its end, on its own task: if a wallet
    /// disconnects, the handler of its request is dropped, and a dropped decision leaves the
    /// session VERIFYING until its lease is over. It uses the CPU between its awaits: it checks
    /// signatures and inflates lists.
    ///
    /// # Errors
    /// There is no decision. The hold, if there was one, is released.
    pub async fn decide<S: Store>(
        self: &Arc<Self>,
        mut verification: Verification<'_>,
        store: &S,
    ) -> Result<Decision, NotDecided<S::Error>> {
        let mut held = None;
        let decided = {
            let mut deciding = pin!(self.decide_holding(&mut verification, store, &mut held));
            let polled = |context: &mut Context<'_>| deciding.as_mut().poll(context);
            unwound(polled).await
        };
        match decided {
            // The session is settled, or it continued without this answer.
            Ok(done @ (Ok(_) | Err(NotDecided::Response(_)))) => done,
            Ok(failed) => {
                give_back(store, held.as_ref()).await;
                failed
            }
            Err(panic) => {
                give_back(store, held.as_ref()).await;
                resume_unwind(panic)
            }
        }
    }

    /// Also returns the session of the hold, once there is one, in `held`.
    async fn decide_holding<S: Store>(
        self: &Arc<Self>,
        verification: &mut Verification<'_>,
        store: &S,
        held: &mut Option<Session>,
    ) -> Result<Decision, NotDecided<S::Error>> {
        let scope = verification.scope();
        let mut allowance = Allowance::of_one_answer();
        loop {
            let (hold, needs) = match verification.step().map_err(NotDecided::Response)? {
                Step::Done(decision) => {
                    stored(store, &decision.transition).await?;
                    return Ok(*decision);
                }
                Step::Need { hold, needs } => (hold, needs),
            };
            if self.recall_for(verification, &needs, &scope, clock::now()) {
                continue;
            }
            // The hold of a second round changes nothing.
            if held.is_none() {
                stored(store, &hold).await?;
                *held = Some(hold.session);
            }
            let asked = self.ask(verification, needs, &scope, &mut allowance).await;
            asked.map_err(NotDecided::NotAsked)?;
        }
    }

    /// Verifies one presentation outside a session, as [`Trust::verify`] does, and fetches the
    /// status that it needs. It uses the CPU between its awaits. If this machine could not fetch a
    /// source, the refusal has [`Hint::TryAgain`](idgate_core::verify::Hint::TryAgain).
    ///
    /// # Errors
    /// The first check that failed.
    pub async fn verify(
        self: &Arc<Self>,
        trust: &Trust,
        vp_token: &str,
        expected: &Expected<'_>,
    ) -> Result<Verified, Refused> {
        let mut presentation = trust.begin(vp_token, expected, clock::now());
        let scope = presentation.scope();
        let mut allowance = Allowance::of_one_answer();
        loop {
            let needs = match presentation.step() {
                PresentationStep::Done(outcome) => return *outcome,
                PresentationStep::Need(needs) => needs,
            };
            if self.recall_for(&mut presentation, &needs, &scope, clock::now()) {
                continue;
            }
            let asked = self.ask(&mut presentation, needs, &scope, &mut allowance).await;
            if asked.is_err() {
                return Err(presentation.give_up());
            }
        }
    }

    async fn ask(
        self: &Arc<Self>,
        questions: &mut impl Questions,
        needs: Vec<Need>,
        scope: &Scope,
        allowance: &mut Allowance,
    ) -> Result<(), NotAsked> {
        let asked = Asked::all(questions, needs);
        let outcomes = self.fetch(asked, allowance).await;
        self.settle_for(questions, &outcomes, scope, clock::now())
    }
}

/// Polls to the end, or to a panic, which resumes after the caller has cleaned up.
async fn unwound<T>(
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T, Box<dyn Any + Send>> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

async fn stored<S: Store>(store: &S, transition: &Transition) -> Result<(), NotDecided<S::Error>> {
    match store.commit(transition).await.map_err(NotDecided::Store)? {
        Committed::Stored => Ok(()),
        Committed::LostRace => Err(NotDecided::Response(NotAnAnswer::SessionClosed)),
    }
}

/// Ends a hold without a verdict, unless the session has continued in the meantime. If the store
/// fails, the lease ends the hold.
async fn give_back<S: Store>(store: &S, held: Option<&Session>) {
    if let Some(released) = held.and_then(|held| held.released(clock::now())) {
        let _ = store.commit(&released).await;
    }
}
