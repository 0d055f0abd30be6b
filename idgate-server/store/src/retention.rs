//! Whether anything is old is a matter of the clock, and one that was set forward must not take keys,
//! sessions and the audit log with it. Nothing is removed for its age within a day of a step of the
//! clock, nor of a start long after the latest audit entry, which may be a clock that was wrong from
//! the beginning. The day is counted in the database, so that a restart does not end it. And then:
//! audit entries that are older than they are kept (decisions 25).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use idgate_core::UnixMillis;

use crate::gateway::Store;
use crate::types::StoreError;
use idgate_base::clock::Clock;

/// Entries per commit, and chains per look, so that a backlog leaves the writer to requests.
const BATCH: usize = 256;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A gateway that writes nothing for longer is rare; to it, waiting for a day is nothing.
const GAP_MS: u64 = 2 * DAY_MS;

/// What one gateway keeps, and for how long it can be told.
pub(super) struct Retention {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    /// `None`: audit entries are kept for ever.
    kept_ms: Option<u64>,
    /// A step that is not stored yet.
    step: Mutex<Option<UnixMillis>>,
    has_begun: AtomicBool,
    was_held: AtomicBool,
}

impl Retention {
    /// Audit entries are kept for so many days; 0: for ever.
    pub(super) fn new(store: Arc<Store>, clock: Arc<dyn Clock>, days: u64) -> Self {
        Self {
            store,
            clock,
            kept_ms: (days > 0).then(|| days.saturating_mul(DAY_MS)),
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

    /// Whether anything may be removed for its age: the clock was not set within a day, as far as
    /// anybody knows.
    ///
    /// # Errors
    /// The store failed: then nobody knows.
    pub(super) async fn can_tell_age(&self) -> Result<bool, StoreError> {
        self.store_step().await?;
        Ok(!self.is_held().await?)
    }

    /// Removes at most a batch of each chain's audit entries that are too old, and says how many.
    ///
    /// # Errors
    /// The store failed, or a chain was altered: its entries are still there, and those of the
    /// others are removed all the same.
    pub(super) async fn remove(&self) -> Result<usize, StoreError> {
        let Some(kept_ms) = self.kept_ms else { return Ok(0) };
        if !self.can_tell_age().await? {
            return Ok(0);
        }
        let now = self.clock.now();
        let before = now.minus(kept_ms);
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

    async fn is_held(&self) -> Result<bool, StoreError> {
        if self.clock.is_in_doubt() {
            return Ok(true);
        }
        let wall = self.clock.wall();
        if !self.has_begun.load(Ordering::Relaxed) {
            let newest = self.store.newest_audit_entry().await?;
            if newest.is_some_and(|newest| wall.since(newest) > GAP_MS) {
                self.store.hold_removals(wall).await?;
            }
            self.has_begun.store(true, Ordering::Relaxed);
        }
        let held = match self.store.removals_held_since().await? {
            // It was set back since, when nothing ran that could have noticed.
            Some(since) if since > wall => {
                self.store.hold_removals(wall).await?;
                true
            }
            Some(since) => wall.since(since) < DAY_MS,
            None => false,
        };
        if held && !self.was_held.swap(held, Ordering::Relaxed) {
            tracing::warn!("the clock was set: nothing is removed for its age for a day");
        }
        self.was_held.store(held, Ordering::Relaxed);
        Ok(held)
    }

    async fn store_step(&self) -> Result<(), StoreError> {
        let Some(at) = *self.step() else { return Ok(()) };
        self.store.hold_removals(at).await?;
        let mut step = self.step();
        // Another one may have come meanwhile.
        *step = step.filter(|latest| *latest != at);
        Ok(())
    }

    fn step(&self) -> std::sync::MutexGuard<'_, Option<UnixMillis>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
