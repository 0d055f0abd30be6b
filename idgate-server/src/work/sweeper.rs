//! Keeps what is stored in step with the clock: materialises expiry, erases results that may no
//! longer be read, removes sessions that nobody needs. Reads never wait for it: they look at the
//! clock themselves.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::clock::{Clock, StepWatch};
use crate::store::{Store, StoreError};
use crate::task::boxed;
use crate::work::retention::Retention;
use crate::work::supervisor::Supervisor;

/// How late an expiry may be stored.
const EXPIRY_TICK: Duration = Duration::from_millis(250);
/// How late claims may leave the files; also the pause before an erasure that a reader held up is
/// tried again.
const PURGE_TICK: Duration = Duration::from_millis(100);
/// How late a session of a revoked client ends. Until then it is refused.
const REVOKED_TICK: Duration = Duration::from_secs(1);
/// How late the log says that another instance key is asked for.
const KEYS_TICK: Duration = Duration::from_secs(1);
/// Sessions of revoked clients per tick (decisions 32).
const REVOKED_BATCH: usize = 500;
/// Old rows are in nobody's way.
const REMOVAL_TICK: Duration = Duration::from_secs(60);
/// Rows per tick, so that a backlog leaves the writer to requests in between.
const BATCH: usize = 256;
/// How long settled sessions are kept: longer than any notification is retried (decisions 8).
const SETTLED_RETENTION_MS: u64 = 7 * DAY_MS;

/// How long a list shows a key that was revoked or that expired (decisions 25).
const ENDED_KEY_RETENTION_MS: u64 = 90 * DAY_MS;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The sweeper of one gateway.
#[derive(Clone)]
pub struct Sweeper {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    retention: Arc<Retention>,
    steps: Arc<StepWatch>,
    /// Why the next start would fail, according to the log.
    next_start: Arc<Mutex<Option<String>>>,
}

impl Sweeper {
    /// Sweeps `store` by `clock`.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        let steps = Arc::new(StepWatch::new(clock.wall()));
        let retention = Arc::new(Retention::new(store.clone(), clock.clone(), 0));
        Self { store, clock, retention, steps, next_start: Arc::default() }
    }

    /// With audit entries kept for so many days; 0: for ever.
    #[must_use]
    pub fn keeping_audit(mut self, days: u64) -> Self {
        self.retention = Arc::new(Retention::new(self.store.clone(), self.clock.clone(), days));
        self
    }

    /// Runs until `stop` says so or its sender is gone. Work that has begun is finished; what panics
    /// is started again.
    pub async fn run(self, supervisor: Arc<Supervisor>, stop: watch::Receiver<bool>) {
        let mut duties = JoinSet::new();
        // One task each: a slow or broken one does not hold up the others.
        for duty in Duty::ALL {
            let (sweeper, stopped) = (self.clone(), stop.clone());
            let start = move || sweeper.clone().repeat(duty, stopped.clone());
            duties.spawn(boxed(supervisor.clone().keep(duty.name(), stop.clone(), start)));
        }
        while duties.join_next().await.is_some() {}
        // What falls due at this moment need not wait for the next start.
        report(Duty::Purge, self.purge().await);
    }

    /// Gives verifications back that a killed process left behind, and says how many. To be called
    /// before any begins.
    ///
    /// # Errors
    /// The store failed; what is not given back is free when its lease is over.
    pub async fn release(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let abandoned = self.store.abandoned_sessions().await?;
        self.commit_all(abandoned, |session| session.released(now)).await
    }

    /// Erases the results that are due, and says how many there were.
    ///
    /// # Errors
    /// The store failed; the results are still due.
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

    /// Stores expiries and lost leases that are due, and says how many it tried. One that cannot be
    /// read or stored holds up none of the others.
    ///
    /// # Errors
    /// The store failed, for all or for one of them; what is not stored is still due.
    pub async fn expire(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let due = self.store.due_sessions(now, BATCH).await?;
        self.commit_all(due, |session| overdue(session, now)).await
    }

    /// Ends open sessions of revoked clients, and says how many it tried.
    ///
    /// # Errors
    /// As [`Sweeper::expire`].
    pub async fn end_revoked(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let open = self.store.sessions_of_revoked(REVOKED_BATCH).await?;
        self.commit_all(open, |session| session.client_revoked(now)).await
    }

    /// Tells the log when a start with the keys of this gateway would fail from now on, and when it would not any
    /// more. Says how often it told.
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

    /// Stores what becomes of these sessions, and says how many it tried.
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
            // All at once, so that they share commits. A lost race means that somebody settled
            // or deleted the session meanwhile: nothing is left to do.
            commits.spawn(async move { store.commit_own(transition).await.map(drop) });
        }
        let tried = commits.len();
        while let Some(commit) = commits.join_next().await {
            let commit = commit.map_err(|error| StoreError::Failed(error.to_string()));
            outcome = outcome.and(commit.and_then(|committed| committed));
        }
        outcome.map(|()| tried)
    }

    /// Removes sessions that settled too long ago, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn remove(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        let before = self.clock.now().minus(SETTLED_RETENTION_MS);
        self.store.remove_settled(before, BATCH).await
    }

    /// Removes answers under idempotency keys that are too old, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn forget(&self) -> Result<usize, StoreError> {
        self.store.forget_answers(self.clock.now(), BATCH).await
    }

    /// Removes reports on refused answers that are too old, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn forget_reports(&self) -> Result<usize, StoreError> {
        self.store.forget_reports(self.clock.now(), BATCH).await
    }

    /// Removes keys that ended too long ago, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn remove_keys(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        let before = self.clock.now().minus(ENDED_KEY_RETENTION_MS);
        self.store.remove_ended_keys(before, BATCH).await
    }

    /// Erases certificates that were replaced long ago, with their private keys, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn forget_certificates(&self) -> Result<usize, StoreError> {
        if !self.retention.can_tell_age().await? {
            return Ok(0);
        }
        self.store.forget_certificates(self.clock.now()).await
    }

    /// Erases the private halves of retired signing keys whose last session is over, and says how many.
    ///
    /// # Errors
    /// The store failed; they are still there.
    pub async fn erase_signers(&self) -> Result<usize, StoreError> {
        self.store.erase_signers(self.clock.now()).await
    }

    /// Removes audit entries that are older than they are kept, and says how many.
    ///
    /// # Errors
    /// The store failed, or a chain was altered: its entries are still there, and those of the
    /// others are removed all the same.
    pub async fn remove_audit(&self) -> Result<usize, StoreError> {
        self.retention.remove().await
    }

    async fn repeat(self, duty: Duty, mut stop: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(duty.tick());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                _ = ticks.tick() => {}
            }
            let outcome = match duty {
                Duty::Expire => self.expire().await,
                Duty::EndRevoked => self.end_revoked().await,
                Duty::LookAtKeys => self.look_at_keys().await,
                Duty::Purge => self.purge().await,
                Duty::Remove => self.remove().await,
                Duty::Forget => self.forget().await,
                Duty::ForgetReports => self.forget_reports().await,
                Duty::RemoveKeys => self.remove_keys().await,
                Duty::ForgetCertificates => self.forget_certificates().await,
                Duty::EraseSigners => self.erase_signers().await,
                Duty::RemoveAudit => self.remove_audit().await,
            };
            if duty.is_batched() && matches!(outcome, Ok(count) if count >= BATCH) {
                // There is more. Requests had their turn while this batch committed.
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

    /// Whether one tick may leave something for the next. Results, certificates and keys are erased
    /// all at once.
    const fn is_batched(self) -> bool {
        !matches!(
            self,
            Self::Purge | Self::LookAtKeys | Self::ForgetCertificates | Self::EraseSigners
        )
    }
}

fn overdue(session: &Session, now: UnixMillis) -> Option<Transition> {
    session.lease_lost(now).or_else(|| session.expired(now))
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
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::session::Status;
    use idgate_fetch::Fetcher;

    use super::*;
    use crate::app::App;
    use crate::clock::VirtualClock;
    use crate::config::{Environment, Quotas};
    use crate::store::temporary::TemporaryStore;
    use crate::store::{Mood, OperatorStore, Store, StoreOptions};
    use crate::telemetry::Telemetry;
    use idgate_testkit::patience::{in_time, until};

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    struct Swept {
        store: TemporaryStore,
        clock: VirtualClock,
        sweeper: Sweeper,
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
            let sweeper = Sweeper::new(store.shared(), shared);
            Self { store, clock, sweeper }
        }
    }

    #[tokio::test]
    async fn expiry_is_stored_when_it_is_due() {
        let swept = Swept::with_sessions(2).await;
        swept.clock.set(NOW.plus(299_999));
        assert_eq!(swept.sweeper.expire().await.unwrap(), 0);
        swept.clock.set(NOW.plus(300_000));
        assert_eq!(swept.sweeper.expire().await.unwrap(), 2);
        assert_eq!(swept.sweeper.expire().await.unwrap(), 0);
        assert!(swept.store.sessions().iter().all(|s| s.status_at(NOW) == Status::Expired));
    }

    #[tokio::test]
    async fn a_tick_does_no_more_than_a_batch() {
        let swept = Swept::with_sessions(BATCH + 1).await;
        swept.clock.set(NOW.plus(300_000));
        assert_eq!(swept.sweeper.expire().await.unwrap(), BATCH);
        assert_eq!(swept.sweeper.expire().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_busy_store_is_tried_again() {
        let swept = Swept::with_sessions(1).await;
        swept.clock.set(NOW.plus(300_000));
        swept.store.set_mood(Mood::Busy);
        assert!(matches!(swept.sweeper.expire().await, Err(StoreError::Busy)));
        swept.store.set_mood(Mood::Well);
        assert_eq!(swept.sweeper.expire().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn settled_sessions_stay_seven_days() {
        let swept = Swept::with_sessions(1).await;
        let expiry = NOW.plus(300_000);
        swept.clock.set(expiry);
        swept.sweeper.expire().await.unwrap();
        for at in [expiry, expiry.plus(SETTLED_RETENTION_MS)] {
            swept.clock.set(at);
            assert_eq!(swept.sweeper.remove().await.unwrap(), 0);
        }
        swept.clock.advance(1);
        assert_eq!(swept.sweeper.remove().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn keys_that_ended_are_listed_for_90_days() {
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
        let sweeper = Sweeper::new(Arc::new(store), Arc::new(clock.clone()));
        for at in [NOW, NOW.plus(90 * DAY_MS - 1)] {
            clock.set(at);
            assert_eq!(sweeper.remove_keys().await.unwrap(), 0);
        }
        clock.advance(1);
        assert_eq!(sweeper.remove_keys().await.unwrap(), 1, "and no key that is live");
    }

    #[tokio::test]
    async fn it_works_by_itself_and_stops_when_told() {
        let swept = Swept::with_sessions(1).await;
        let (stop, stopped) = watch::channel(false);
        let supervisor = Arc::new(Supervisor::new(Arc::new(Telemetry::new().unwrap())));
        let running = tokio::spawn(swept.sweeper.run(supervisor, stopped));
        swept.clock.set(NOW.plus(300_000));
        let stored = async || swept.store.sessions().iter().all(|it| it.settled_at().is_some());
        until("it is stored", stored).await;
        stop.send(true).unwrap();
        in_time("it stops", running).await.unwrap();
    }
}
