//! Removes audit entries that are older than they are kept (decisions 25), unless the clock is not to be
//! trusted: one that was set forward must not take the log with it. Nothing is removed within a day
//! of a step of the clock, nor of a start long after the latest entry, which may be a clock that was
//! wrong from the beginning. The day is counted in the database, so that a restart does not end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use idgate_core::time::UnixMillis;

use crate::clock::Clock;
use crate::store::{Store, StoreError};

/// Entries per commit, and chains per look, so that a backlog leaves the writer to requests.
const BATCH: usize = 256;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A gateway that writes nothing for longer is rare; to it, waiting for a day is nothing.
const GAP_MS: u64 = 2 * DAY_MS;

/// The retention of one gateway's audit log.
pub(super) struct Retention {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    kept_ms: u64,
    /// A step that is not stored yet.
    step: Mutex<Option<UnixMillis>>,
    has_begun: AtomicBool,
    was_held: AtomicBool,
}

impl Retention {
    /// Entries are kept for so many days, which are not 0.
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, days: u64) -> Self {
        Self {
            store,
            clock,
            kept_ms: days.saturating_mul(DAY_MS),
            step: Mutex::default(),
            has_begun: AtomicBool::default(),
            was_held: AtomicBool::default(),
        }
    }

    /// The clock was set. When that cannot be stored now, nothing is removed before it is.
    pub(super) async fn note_step(&self) {
        *self.step() = Some(self.clock.wall());
        if let Err(cause) = self.store_step().await {
            tracing::debug!(%cause, "a step of the clock is not stored yet");
        }
    }

    /// Removes at most a batch of each chain's entries that are too old, and says how many.
    ///
    /// # Errors
    /// The store failed, or a chain was altered: its entries are still there, and those of the
    /// others are removed all the same.
    pub(super) async fn remove(&self) -> Result<usize, StoreError> {
        self.store_step().await?;
        if self.is_held().await? {
            return Ok(0);
        }
        let now = self.clock.now();
        let before = now.minus(self.kept_ms);
        let (mut removed, mut outcome) = (0_usize, Ok(()));
        let mut last = String::new();
        loop {
            let chains = self.store.old_chains(last, before, BATCH).await?;
            let Some(end) = chains.last() else { break };
            last = end.clone();
            for client_id in chains {
                match self.store.remove_old_entries(client_id, before, BATCH, now).await {
                    Ok(count) => removed = removed.saturating_add(count),
                    Err(error) => outcome = Err(error),
                }
            }
        }
        outcome.map(|()| removed)
    }

    /// Whether the clock was set within a day, as far as anybody knows.
    async fn is_held(&self) -> Result<bool, StoreError> {
        if self.clock.is_in_doubt() {
            return Ok(true);
        }
        let wall = self.clock.wall();
        if !self.has_begun.load(Ordering::Relaxed) {
            let newest = self.store.newest_audit_entry().await?;
            if newest.is_some_and(|newest| wall.since(newest) > GAP_MS) {
                self.store.hold_audit(wall).await?;
            }
            self.has_begun.store(true, Ordering::Relaxed);
        }
        let held = match self.store.audit_held_since().await? {
            // It was set back since, when nothing ran that could have noticed.
            Some(since) if since > wall => {
                self.store.hold_audit(wall).await?;
                true
            }
            Some(since) => wall.since(since) < DAY_MS,
            None => false,
        };
        if held && !self.was_held.swap(held, Ordering::Relaxed) {
            tracing::warn!("the clock was set: audit entries that are too old stay for a day");
        }
        self.was_held.store(held, Ordering::Relaxed);
        Ok(held)
    }

    async fn store_step(&self) -> Result<(), StoreError> {
        let Some(at) = *self.step() else { return Ok(()) };
        self.store.hold_audit(at).await?;
        let mut step = self.step();
        // Another one may have come meanwhile.
        *step = step.filter(|latest| *latest != at);
        Ok(())
    }

    fn step(&self) -> std::sync::MutexGuard<'_, Option<UnixMillis>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
