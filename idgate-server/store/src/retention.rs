//! Removes audit entries past their retention (decisions 25), and guards every removal by age
//! against a wrong clock: a clock that was set forward must not remove keys, sessions and the audit
//! log. Nothing is removed for its age within a day after the clock was set. The same holds after a
//! start long after the latest audit entry, because the clock may have been wrong from the
//! beginning. The day is stored in the database, so that a restart does not end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use idgate_core::UnixMillis;

use crate::gateway::Store;
use crate::types::StoreError;
use idgate_base::clock::Clock;

/// Entries per commit and chains per run, so that a backlog leaves the writer free for requests.
const BATCH: usize = 256;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Few gateways write nothing for longer than this, and for those a day's delay does not matter.
const GAP_MS: u64 = 2 * DAY_MS;

/// The retention of one gateway, and whether it can tell how old something is.
pub(super) struct Retention {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    /// `None`: audit entries are kept without limit.
    kept_ms: Option<u64>,
    /// A step of the clock that is not stored yet.
    step: Mutex<Option<UnixMillis>>,
    has_begun: AtomicBool,
    was_held: AtomicBool,
}

impl Retention {
    /// Keeps audit entries for `days` days. 0: without limit.
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

    /// Notes that the clock was set. If that cannot be stored now, nothing is removed until it is.
    pub(super) async fn note_step(&self) {
        *self.step() = Some(self.clock.wall());
        if let Err(cause) = self.store_step().await {
            tracing::debug!(%cause, "a change of the clock could not be stored yet");
        }
    }

    /// Whether removal by age is allowed: as far as is known, the clock was not set within a day.
    ///
    /// # Errors
    /// The store failed, so it is not known.
    pub(super) async fn can_tell_age(&self) -> Result<bool, StoreError> {
        self.store_step().await?;
        Ok(!self.is_held().await?)
    }

    /// Removes at most a batch of each chain's audit entries that are too old. Returns how many.
    ///
    /// # Errors
    /// The store failed, or a chain was altered. Its entries stay, and those of the other chains
    /// are removed nevertheless.
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
            // The clock was set back while no gateway was running to notice it.
            Some(since) if since > wall => {
                self.store.hold_removals(wall).await?;
                true
            }
            Some(since) => wall.since(since) < DAY_MS,
            None => false,
        };
        if held && !self.was_held.swap(held, Ordering::Relaxed) {
            tracing::warn!("the clock was set: no data is removed by age for a day");
        }
        self.was_held.store(held, Ordering::Relaxed);
        Ok(held)
    }

    async fn store_step(&self) -> Result<(), StoreError> {
        let Some(at) = *self.step() else { return Ok(()) };
        self.store.hold_removals(at).await?;
        let mut step = self.step();
        // Another step may have happened in between.
        *step = step.filter(|latest| *latest != at);
        Ok(())
    }

    fn step(&self) -> std::sync::MutexGuard<'_, Option<UnixMillis>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
