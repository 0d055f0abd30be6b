//! Keeps the store in step with the clock: stores expiry, erases results that may no longer be
//! read, and removes old sessions. Reads never wait for it, because they check the clock
//! themselves.

use std::sync::{Arc, Mutex, PoisonError};

use idgate_base::clock::{Clock, StepWatch};
use idgate_core::{Session, Transition, UnixMillis};
use tokio::task::JoinSet;

use crate::gateway::Store;
use crate::retention::Retention;
use crate::types::StoreError;

/// Sessions of revoked clients per batch (decisions 32).
const REVOKED_BATCH: usize = 500;
/// Rows per batch, so that a backlog leaves the writer free for requests in between.
pub const BATCH: usize = 256;
/// How long settled sessions are kept: longer than any notification is retried (decisions 8).
const SETTLED_RETENTION_MS: u64 = 7 * DAY_MS;
/// How long a list shows a revoked or expired key (decisions 25).
const ENDED_KEY_RETENTION_MS: u64 = 90 * DAY_MS;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The periodic duties of one gateway's store. Each is a method, and the caller decides when to run
/// it.
#[derive(Clone)]
pub struct Upkeep {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    retention: Arc<Retention>,
    steps: Arc<StepWatch>,
    /// Why the next start would fail, as the log says.
    next_start: Arc<Mutex<Option<String>>>,
}

impl Upkeep {
    /// For `store`, by `clock`.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        let steps = Arc::new(StepWatch::new(clock.wall()));
        let retention = Arc::new(Retention::new(store.clone(), clock.clone(), 0));
        Self { store, clock, retention, steps, next_start: Arc::default() }
    }

    /// Keeps audit entries for `days` days. 0: without limit.
    #[must_use]
    pub fn keeping_audit(mut self, days: u64) -> Self {
        self.retention = Arc::new(Retention::new(self.store.clone(), self.clock.clone(), days));
        self
    }

    /// Releases verifications that a killed process left behind. Returns how many. Call it before
    /// any verification begins.
    ///
    /// # Errors
    /// The store failed. Sessions that were not released become free when their lease ends.
    pub async fn release(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let abandoned = self.store.abandoned_sessions().await?;
        self.commit_all(abandoned, |session| session.released(now)).await
    }

    /// Erases due results. Returns how many there were.
    ///
    /// # Errors
    /// The store failed. The results are still due.
    pub async fn purge(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        if let Some(by_ms) = self.steps.observe(self.clock.wall()) {
            tracing::warn!(
                by_ms,
                "the clock was set: results stored under the old time are erased no later than in 30 s"
            );
            self.store.telemetry().clock_step(by_ms);
            self.retention.note_step().await;
        }
        self.store.purge_results(now).await
    }

    /// Stores due expiries and lost leases. Returns how many it tried. A session that cannot be
    /// read or stored does not hold up the others.
    ///
    /// # Errors
    /// The store failed, for all or for one of them. Sessions that were not stored are still due.
    pub async fn expire(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let due = self.store.due_sessions(now, BATCH).await?;
        self.commit_all(due, |session| overdue(session, now)).await
    }

    /// Ends open sessions of revoked clients. Returns how many it tried.
    ///
    /// # Errors
    /// As [`Upkeep::expire`].
    pub async fn end_revoked(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let open = self.store.sessions_of_revoked(REVOKED_BATCH).await?;
        self.commit_all(open, |session| session.client_revoked(now)).await
    }

    /// Logs when a start with this gateway's keys would fail from now on, and when it would work
    /// again. Returns how often it logged.
    ///
    /// # Errors
    /// The store failed.
    pub async fn look_at_keys(&self) -> Result<usize, StoreError> {
        let why = self.store.next_start().await?;
        let mut told = self.next_start.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == why {
            return Ok(0);
        }
        match &why {
            Some(why) => tracing::error!(%why, "the next start would fail"),
            None => tracing::info!("the next start would not fail any more"),
        }
        *told = why;
        Ok(1)
    }

    /// Stores the transitions of these sessions. Returns how many it tried.
    async fn commit_all(
        &self,
        sessions: Vec<Result<Session, StoreError>>,
        becomes: impl Fn(&Session) -> Option<Transition>,
    ) -> Result<usize, StoreError> {
        let mut commits = JoinSet::new();
        let mut outcome = Ok(());
        for session in sessions {
            let transition = match session {
                Ok(session) => becomes(&session),
                Err(error) => {
                    outcome = Err(error);
                    None
                }
            };
            let Some(transition) = transition else { continue };
            let store = self.store.clone();
            // All concurrently, so that they share commits. A lost race means that another task
            // settled or deleted the session in the meantime, so nothing is left to do.
            commits.spawn(async move { store.commit_own(transition).await.map(drop) });
        }
        let tried = commits.len();
        while let Some(commit) = commits.join_next().await {
            let commit = commit.map_err(|error| StoreError::Failed(error.to_string()));
            outcome = outcome.and(commit.and_then(|committed| committed));
        }
        outcome.map(|()| tried)
    }

    /// Removes sessions that settled too long ago. Returns how many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn remove(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        let before = self.clock.now().minus(SETTLED_RETENTION_MS);
        self.store.remove_settled(before, BATCH).await
    }

    /// Removes answers under idempotency keys that are too old. Returns how many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn forget(&self) -> Result<usize, StoreError> {
        self.store.forget_answers(self.clock.now(), BATCH).await
    }

    /// Removes reports on rejected answers that are too old. Returns how many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn forget_reports(&self) -> Result<usize, StoreError> {
        self.store.forget_reports(self.clock.now(), BATCH).await
    }

    /// Removes keys that ended too long ago. Returns how many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn remove_keys(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        let before = self.clock.now().minus(ENDED_KEY_RETENTION_MS);
        self.store.remove_ended_keys(before, BATCH).await
    }

    /// Erases certificates that were replaced long ago, with their private keys. Returns how many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn forget_certificates(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        self.store.forget_certificates(self.clock.now()).await
    }

    /// Erases the private keys of retired signing keys whose last session has ended. Returns how
    /// many.
    ///
    /// # Errors
    /// The store failed. They are still there.
    pub async fn erase_signers(&self) -> Result<usize, StoreError> {
        self.store.erase_signers(self.clock.now()).await
    }

    /// Removes audit entries past their retention. Returns how many.
    ///
    /// # Errors
    /// The store failed, or a chain was altered. Its entries stay, and those of the other chains
    /// are removed nevertheless.
    pub async fn remove_audit(&self) -> Result<usize, StoreError> {
        self.retention.remove().await
    }
}

fn overdue(session: &Session, now: UnixMillis) -> Option<Transition> {
    session.lease_lost(now).or_else(|| session.expired(now))
}
