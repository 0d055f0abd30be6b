//! Does the periodic duties of the store, each at its own pace.

use std::sync::Arc;
use std::time::Duration;

use idgate_base::task::boxed;
use idgate_store::StoreError;
use idgate_store::upkeep::{BATCH, Upkeep};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::work::stop::stopped;
use crate::work::supervisor::Supervisor;

/// The maximum delay before an expiry is stored.
const EXPIRY_TICK: Duration = Duration::from_millis(250);
/// The maximum delay before claims leave the files; also the pause before an erasure that a reader
/// held up is retried.
const PURGE_TICK: Duration = Duration::from_millis(100);
/// The maximum delay before a session of a revoked client ends. Until then it is refused.
const REVOKED_TICK: Duration = Duration::from_secs(1);
/// The maximum delay before the log reports that another instance key is needed.
const KEYS_TICK: Duration = Duration::from_secs(1);
/// Removing old rows is not urgent.
const REMOVAL_TICK: Duration = Duration::from_secs(60);

/// The sweeper of one gateway.
#[derive(Clone)]
pub struct Sweeper {
    upkeep: Upkeep,
}

impl Sweeper {
    /// Does the duties of `upkeep` when they are due.
    pub fn new(upkeep: Upkeep) -> Self {
        Self { upkeep }
    }

    /// Runs until `stop` says so or its sender is gone. Work in progress is finished; tasks that
    /// panic are restarted.
    pub async fn run(self, supervisor: Arc<Supervisor>, stop: watch::Receiver<bool>) {
        let mut duties = JoinSet::new();
        // One task for each duty: a slow or broken one does not delay the others.
        for duty in Duty::ALL {
            let sweeper = self.clone();
            let start = move |stop| sweeper.clone().repeat(duty, stop);
            duties.spawn(boxed(supervisor.clone().keep(duty.name(), stop.clone(), start)));
        }
        while duties.join_next().await.is_some() {}
        // Erase what is due now, rather than at the next start.
        report(Duty::Purge, self.upkeep.purge().await);
    }

    async fn repeat(self, duty: Duty, mut stop: watch::Receiver<bool>) {
        let upkeep = &self.upkeep;
        let mut ticks = tokio::time::interval(duty.tick());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopped(&mut stop) => return,
                _ = ticks.tick() => {}
            }
            let outcome = match duty {
                Duty::Expire => upkeep.expire().await,
                Duty::EndRevoked => upkeep.end_revoked().await,
                Duty::LookAtKeys => upkeep.look_at_keys().await,
                Duty::Purge => upkeep.purge().await,
                Duty::Remove => upkeep.remove().await,
                Duty::Forget => upkeep.forget().await,
                Duty::ForgetReports => upkeep.forget_reports().await,
                Duty::RemoveKeys => upkeep.remove_keys().await,
                Duty::ForgetCertificates => upkeep.forget_certificates().await,
                Duty::EraseSigners => upkeep.erase_signers().await,
                Duty::RemoveAudit => upkeep.remove_audit().await,
            };
            if duty.is_batched() && matches!(outcome, Ok(count) if count >= BATCH) {
                // More is due. Requests had their turn while this batch was committed.
                ticks.reset_immediately();
            }
            report(duty, outcome);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Duty {
    Expire,
    EndRevoked,
    LookAtKeys,
    Purge,
    Remove,
    Forget,
    ForgetReports,
    RemoveKeys,
    ForgetCertificates,
    EraseSigners,
    RemoveAudit,
}

impl Duty {
    const ALL: [Self; 11] = [
        Self::Expire,
        Self::EndRevoked,
        Self::LookAtKeys,
        Self::Purge,
        Self::Remove,
        Self::Forget,
        Self::ForgetReports,
        Self::RemoveKeys,
        Self::ForgetCertificates,
        Self::EraseSigners,
        Self::RemoveAudit,
    ];

    /// Its name in the metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Expire => "sweeper_expire",
            Self::EndRevoked => "sweeper_end_revoked",
            Self::LookAtKeys => "sweeper_look_at_keys",
            Self::Purge => "sweeper_purge",
            Self::Remove => "sweeper_remove",
            Self::Forget => "sweeper_forget",
            Self::ForgetReports => "sweeper_forget_reports",
            Self::RemoveKeys => "sweeper_remove_keys",
            Self::ForgetCertificates => "sweeper_forget_certificates",
            Self::EraseSigners => "sweeper_erase_signers",
            Self::RemoveAudit => "sweeper_remove_audit",
        }
    }

    const fn tick(self) -> Duration {
        match self {
            Self::Expire => EXPIRY_TICK,
            Self::EndRevoked => REVOKED_TICK,
            Self::LookAtKeys => KEYS_TICK,
            Self::Purge => PURGE_TICK,
            Self::Remove
            | Self::Forget
            | Self::ForgetReports
            | Self::RemoveKeys
            | Self::ForgetCertificates
            | Self::EraseSigners
            | Self::RemoveAudit => REMOVAL_TICK,
        }
    }

    /// Whether a tick may leave work for the next. Results, certificates and keys are always erased
    /// completely.
    const fn is_batched(self) -> bool {
        !matches!(
            self,
            Self::Purge | Self::LookAtKeys | Self::ForgetCertificates | Self::EraseSigners
        )
    }
}

fn report(duty: Duty, outcome: Result<usize, StoreError>) {
    match outcome {
        Ok(0) => {}
        Ok(count) => tracing::debug!(?duty, count, "swept"),
        // The next tick tries again.
        Err(error @ (StoreError::Busy | StoreError::Full)) => tracing::debug!(?duty, %error),
        Err(cause) => tracing::error!(?duty, %cause, "sweeping failed"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate::Fetcher;
    use idgate_base::clock::{Clock, VirtualClock};
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::{Status, UnixMillis};

    use super::*;
    use crate::app::App;
    use crate::config::{Environment, Quotas};
    use idgate_base::telemetry::Telemetry;
    use idgate_store::fixtures::TemporaryStore;
    use idgate_store::{Mood, OperatorStore, Store, StoreOptions};
    use idgate_testkit::patience::{in_time, until};

    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    struct Swept {
        store: TemporaryStore,
        clock: VirtualClock,
        upkeep: Upkeep,
    }

    impl Swept {
        /// A store with `count` open sessions.
        async fn with_sessions(count: usize) -> Self {
            let store = TemporaryStore::default();
            let clock = VirtualClock::at(NOW);
            let shared: Arc<dyn Clock> = Arc::new(clock.clone());
            let (base_url, fetcher) = ("https://gateway.example", Fetcher::reaching(&[]));
            let app = App::new(store.shared(), shared.clone(), PROVIDER, base_url, fetcher);
            let caller = store.caller();
            for _ in 0..count {
                app.create_session(&caller, br#"{"issuer_id":"issuer"}"#).await.unwrap();
            }
            let upkeep = Upkeep::new(store.shared(), shared);
            Self { store, clock, upkeep }
        }
    }

    #[tokio::test]
    async fn expiry_is_stored_when_it_is_due() {
        let swept = Swept::with_sessions(2).await;
        swept.clock.set(NOW.plus(299_999));
        assert_eq!(swept.upkeep.expire().await.unwrap(), 0);
        swept.clock.set(NOW.plus(300_000));
        assert_eq!(swept.upkeep.expire().await.unwrap(), 2);
        assert_eq!(swept.upkeep.expire().await.unwrap(), 0);
        assert!(swept.store.sessions().iter().all(|s| s.status_at(NOW) == Status::Expired));
    }

    #[tokio::test]
    async fn a_tick_does_at_most_one_batch() {
        let swept = Swept::with_sessions(BATCH + 1).await;
        swept.clock.set(NOW.plus(300_000));
        assert_eq!(swept.upkeep.expire().await.unwrap(), BATCH);
        assert_eq!(swept.upkeep.expire().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_busy_store_is_retried() {
        let swept = Swept::with_sessions(1).await;
        swept.clock.set(NOW.plus(300_000));
        swept.store.set_mood(Mood::Busy);
        assert!(matches!(swept.upkeep.expire().await, Err(StoreError::Busy)));
        swept.store.set_mood(Mood::Well);
        assert_eq!(swept.upkeep.expire().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn settled_sessions_stay_seven_days() {
        let swept = Swept::with_sessions(1).await;
        let expiry = NOW.plus(300_000);
        swept.clock.set(expiry);
        swept.upkeep.expire().await.unwrap();
        for at in [expiry, expiry.plus(7 * DAY_MS)] {
            swept.clock.set(at);
            assert_eq!(swept.upkeep.remove().await.unwrap(), 0);
        }
        swept.clock.advance(1);
        assert_eq!(swept.upkeep.remove().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn ended_keys_are_listed_for_90_days() {
        let dir = tempfile::tempdir().unwrap();
        let mut operator = OperatorStore::open(dir.path(), None).unwrap();
        let client_id = operator.create_client("shop", true, None, NOW).unwrap().client_id;
        let (key, _) = operator.create_key(&client_id, None, None, NOW).unwrap().unwrap();
        operator.revoke_key(Some(&client_id), &key.id, NOW).unwrap();
        let options = StoreOptions {
            instance_key: None,
            environment: Environment::Development,
            quotas: Quotas::default(),
        };
        let store = Store::open(dir.path(), options, NOW).unwrap();
        let clock = VirtualClock::at(NOW);
        let upkeep = Upkeep::new(Arc::new(store), Arc::new(clock.clone()));
        for at in [NOW, NOW.plus(90 * DAY_MS - 1)] {
            clock.set(at);
            assert_eq!(upkeep.remove_keys().await.unwrap(), 0);
        }
        clock.advance(1);
        assert_eq!(upkeep.remove_keys().await.unwrap(), 1, "and no live key");
    }

    #[tokio::test]
    async fn it_runs_by_itself_and_stops_on_request() {
        let swept = Swept::with_sessions(1).await;
        let (stop, stopped) = watch::channel(false);
        let supervisor = Arc::new(Supervisor::new(Arc::new(Telemetry::new().unwrap())));
        let running = tokio::spawn(Sweeper::new(swept.upkeep).run(supervisor, stopped));
        swept.clock.set(NOW.plus(300_000));
        let stored = async || swept.store.sessions().iter().all(|it| it.settled_at().is_some());
        until("it is stored", stored).await;
        stop.send(true).unwrap();
        in_time("it stops", running).await.unwrap();
    }
}
