//! Fetches status lists and CRLs again before they are over, at times that no presentation decides (ARF
//! 3.0, VCR_15), each gateway for itself. Nothing waits for it. Where a source is down, its copy serves on as
//! it does without renewal.

use std::sync::Arc;
use std::time::Duration;

use idgate::Fetcher;
use idgate_core::{CryptoProvider, Trust};
use tokio::sync::watch;

use super::ticks;
use idgate_base::clock::Clock;
use idgate_base::entropy::OsEntropy;
use idgate_store::{Store, StoreError};

/// How late a source may be asked: a copy of the shortest time that is renewed is due 7.5 s before its end.
const TICK: Duration = Duration::from_secs(5);

/// Renews the sources that one gateway remembers.
#[derive(Clone)]
pub struct StatusRenewal {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    provider: CryptoProvider,
    fetcher: Arc<Fetcher>,
}

impl StatusRenewal {
    /// Renews the sources that `fetcher` remembers, under the trust in `store`.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        provider: CryptoProvider,
        fetcher: Arc<Fetcher>,
    ) -> Self {
        Self { store, clock, provider, fetcher }
    }

    /// Runs until `stop` says so or its sender is gone.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let look = || async {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "status lists cannot be renewed");
            }
        };
        ticks::repeat(TICK, stop, look).await;
    }

    /// Renews the sources that are due, within the budget.
    ///
    /// # Errors
    /// The store failed.
    async fn look(&self) -> Result<(), StoreError> {
        // Nothing is judged by a clock that is in doubt.
        if !self.fetcher.remembers_any() || self.clock.is_in_doubt() {
            return Ok(());
        }
        let trust = Trust::of_snapshot(self.provider, self.store.trust().await?);
        loop {
            let done = self.fetcher.renew_due(&trust, &mut OsEntropy, self.clock.now()).await;
            self.store.telemetry().renewed(done.renewed, done.failed, done.refused);
            if done.count() == 0 {
                return Ok(());
            }
        }
    }
}
