//! Delivers notifications: wakes up when a session settles, leases what is due, sends it through
//! the guarded egress, and stores the outcome (decisions 11). Delivery is at least once: the leases
//! of a process that dies pass to the next.

mod courier;
mod lanes;
mod retry_after;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use idgate::{Answer, EgressError};
use idgate_core::UnixMillis;
use idgate_core::shell::webhook::{SCHEDULE_MS, next_attempt};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

pub use self::courier::{Courier, Message};
use self::lanes::{Health, Lanes, Place};
use crate::limits::WEBHOOK_TIME;
use crate::work::stop::stopped;
use idgate_base::clock::{Clock, Stopwatch};
use idgate_base::entropy::OsEntropy;
use idgate_base::spans::{Key, Kind, Recording, Tracer, Value};
use idgate_base::task::boxed;
use idgate_store::{DeliveryResult, Leased, Store, StoreError};

/// Longer than an exchange and its commits.
const LEASE_MS: u64 = 60_000;
/// The maximum delay before a due time or an operator's review is noticed.
const POLL: Duration = Duration::from_millis(500);
/// Sessions that settle together are handled together.
const GATHERING: Duration = Duration::from_millis(10);
/// The search for due notifications visits each client that has some waiting, even for a review;
/// with a thousand clients it takes milliseconds. The pause after a search is this many times its
/// duration, so that searching uses a tenth of a core at most and is still quick with few clients.
const RESTS: u32 = 9;
/// Removing old rows is not urgent.
const TIDY: Duration = Duration::from_secs(60);
/// Rows removed per statement, so that requests can write in between.
const TIDY_BATCH: usize = 256;
/// How long a notification waits for the review of its host (decisions 11).
const HOLD_MS: u64 = 72 * 60 * 60 * 1000;
/// How long a dead letter is kept (decisions 11).
const DEAD_LETTER_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// How often storing an outcome is tried on a busy store before the lease is left to expire.
const TRIES_TO_STORE: u32 = 20;
/// Pause between two of these tries.
const PAUSE_TO_STORE: Duration = Duration::from_millis(100);
/// A longer exchange counts as slow: its client no longer gets all places.
const SLOW_US: u64 = 2_000_000;

/// The webhook deliverer of one gateway.
pub struct Delivery {
    office: Arc<Office>,
    lanes: Lanes,
    exchanges: JoinSet<()>,
    /// The duration of the last search for due notifications.
    looked: Duration,
}

/// Shared by all exchanges.
struct Office {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    courier: Courier,
    /// `None` if nothing is traced.
    tracer: Option<Arc<Tracer>>,
}

impl Delivery {
    /// Delivers the notifications of `store` through `courier`. `tracer` records each exchange for
    /// a trace collector, if there is one.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        courier: Courier,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        let office = Office { store, clock, courier, tracer };
        let (lanes, exchanges) = (Lanes::default(), JoinSet::new());
        Self { office: Arc::new(office), lanes, exchanges, looked: Duration::ZERO }
    }

    /// Runs until `stop` says so or its sender is gone. Exchanges in progress are finished; unused
    /// leases are taken over at the next start.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = stopped(&mut stop) => {}
            () = self.work() => {}
        }
        self.finish().await;
    }

    async fn work(&mut self) {
        let bell = self.office.store.outbox_bell();
        let mut tidying = tokio::time::interval(TIDY);
        tidying.set_missed_tick_behavior(MissedTickBehavior::Delay);
        note("taking over", self.office.store.release_leases(self.office.clock.now()).await);
        loop {
            note("leasing", self.send_due().await);
            let pause = tokio::select! {
                () = bell.notified() => gathering(self.looked),
                Some(_) = self.exchanges.join_next() => pause(self.looked),
                () = tokio::time::sleep(POLL) => Duration::ZERO,
                _ = tidying.tick() => {
                    note("tidying", self.tidy().await);
                    Duration::ZERO
                }
            };
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// Starts the due exchanges that get a place; returns how many.
    ///
    /// # Errors
    /// The store failed; the notifications are still due.
    pub async fn send_due(&mut self) -> Result<usize, StoreError> {
        while self.exchanges.try_join_next().is_some() {}
        let now = self.office.clock.now();
        let watch = Stopwatch::new();
        let due = self.office.store.due_lanes(now).await?;
        self.looked = Duration::from_micros(watch.elapsed_us());
        let wanted = self.lanes.share_out(due);
        if wanted.is_empty() {
            return Ok(0);
        }
        let leased = self.office.store.lease(wanted, now, now.plus(LEASE_MS)).await?;
        let started = leased.len();
        for leased in leased {
            let place = self.lanes.take(&leased);
            self.exchanges.spawn(boxed(exchange(self.office.clone(), leased, place)));
        }
        Ok(started)
    }

    /// Gives up notifications that waited too long for a review, and removes old dead letters.
    ///
    /// # Errors
    /// The store failed; nothing was removed.
    pub async fn tidy(&self) -> Result<usize, StoreError> {
        let Office { store, clock, .. } = &*self.office;
        let now = clock.now();
        let unreviewed = store.give_up_unreviewed(now.minus(HOLD_MS), TIDY_BATCH, now).await?;
        let old = store.remove_dead_letters(now.minus(DEAD_LETTER_MS), TIDY_BATCH).await?;
        Ok(unreviewed.saturating_add(old))
    }

    /// Waits for the exchanges in progress.
    pub async fn finish(&mut self) {
        while self.exchanges.join_next().await.is_some() {}
    }
}

/// How long to gather sessions before the next search, depending on the duration of the last.
fn gathering(looked: Duration) -> Duration {
    looked.saturating_mul(RESTS).clamp(GATHERING, POLL)
}

/// How long a freed place waits for the next search: not at all, unless searches are slow.
fn pause(looked: Duration) -> Duration {
    let pause = gathering(looked);
    if pause > GATHERING { pause } else { Duration::ZERO }
}

/// One attempt, from the lease to its end.
async fn exchange(office: Arc<Office>, leased: Leased, place: Place) {
    match office.tracer.as_ref().and_then(|tracer| tracer.begin(Kind::Client)) {
        None => exchange_in(office, leased, place, None).await,
        Some(recording) => {
            recording.join(leased.parent);
            let exchange = pin!(exchange_in(office, leased, place, Some(&recording)));
            recording.around(exchange).await;
        }
    }
}

async fn exchange_in(
    office: Arc<Office>,
    leased: Leased,
    place: Place,
    recording: Option<&Arc<Recording>>,
) {
    let watch = Stopwatch::new();
    let place = Arc::new(place);
    let outcome = office.attempt(&leased, place.clone()).await;
    let now = office.clock.now();
    let status = outcome.as_ref().ok().map(|answer| answer.status);
    let verdict = judge(&leased, outcome, now);
    place.judge(match verdict {
        DeliveryResult::Delivered if watch.elapsed_us() < SLOW_US => Health::Well,
        DeliveryResult::Delivered => Health::Slow,
        DeliveryResult::Failed { .. } => Health::Failing,
    });
    report(&leased, &verdict);
    office.store.telemetry().webhook(outcome_of(&verdict));
    let end = recording.map(|recording| {
        (recording, attributes(&leased, status), verdict != DeliveryResult::Delivered)
    });
    office.end(&leased, verdict, now).await;
    if let Some((recording, attributes, failed)) = end {
        recording.end("POST webhook".to_owned(), attributes, failed);
    }
}

/// The span attributes of an attempt. Of the receiver they name only the host, which the client
/// gave.
fn attributes(leased: &Leased, status: Option<u16>) -> Vec<(Key, Value)> {
    let mut attributes = vec![(Key::Method, Value::Word("POST"))];
    attributes.extend(Value::host_of(&leased.target.url).map(|host| (Key::Host, host)));
    attributes.extend(
        (leased.attempts > 0).then(|| (Key::Resend, Value::Number(i64::from(leased.attempts)))),
    );
    match status {
        Some(status) => attributes.push((Key::Status, Value::Number(i64::from(status)))),
        None => attributes.push((Key::Error, Value::Word("no_answer"))),
    }
    attributes
}

impl Office {
    async fn attempt(&self, leased: &Leased, place: Arc<Place>) -> Result<Answer, String> {
        let message = Message {
            id: &leased.id,
            at: self.clock.now(),
            number: leased.attempts.saturating_add(1),
            body: &leased.body,
        };
        self.courier.carry(&leased.target, message, WEBHOOK_TIME, place).await
    }

    /// Stores the outcome. If that fails, the notification is sent again when the lease expires.
    async fn end(&self, leased: &Leased, verdict: DeliveryResult, now: UnixMillis) {
        let (seq, lease_until) = (leased.seq, leased.lease_until);
        for _ in 0..TRIES_TO_STORE {
            match self.store.end_lease(seq, lease_until, verdict.clone(), now).await {
                Err(StoreError::Busy) => tokio::time::sleep(PAUSE_TO_STORE).await,
                Err(error) => return note("storing a verdict", Err(error)),
                Ok(_) => return,
            }
        }
    }
}

/// Interprets a response: 2xx is success, 410 gives up, anything else is tried again later.
fn judge(leased: &Leased, outcome: Result<Answer, String>, now: UnixMillis) -> DeliveryResult {
    let (error, retry_after, is_final) = match outcome {
        Ok(Answer { status: 200..=299, .. }) => return DeliveryResult::Delivered,
        Ok(Answer { status, retry_after }) => {
            let asked = retry_after.and_then(|value| retry_after::millis(&value, now));
            (EgressError::Status(status).to_string(), asked, status == 410)
        }
        Err(error) => (error, None, false),
    };
    if is_final || leased.is_replay {
        return DeliveryResult::Failed { error, again_at: None };
    }
    let failed = leased.attempts.saturating_add(1);
    let again_at = next_attempt(failed, now, retry_after, &mut OsEntropy);
    // Without random numbers, at the exact time.
    DeliveryResult::Failed { error, again_at: again_at.unwrap_or_else(|_| on_the_dot(failed, now)) }
}

fn on_the_dot(failed: u32, now: UnixMillis) -> Option<UnixMillis> {
    let step = SCHEDULE_MS.get(usize::try_from(failed).ok()?)?;
    Some(now.plus(*step))
}

/// Logs ids and the fixed vocabulary only, never the full URL or the content.
fn report(leased: &Leased, verdict: &DeliveryResult) {
    let (id, client_id) = (&*leased.id, &*leased.client_id);
    let attempt = leased.attempts.saturating_add(1);
    match verdict {
        DeliveryResult::Delivered => {
            tracing::debug!(id, client_id, attempt, "a webhook was delivered")
        }
        DeliveryResult::Failed { error, again_at: Some(_) } => {
            tracing::info!(
                id,
                client_id,
                attempt,
                error,
                "a webhook failed; it will be tried again"
            );
        }
        DeliveryResult::Failed { error, again_at: None } => {
            tracing::warn!(id, client_id, attempt, error, "a webhook was given up");
        }
    }
}

/// The name of an outcome in the metrics.
fn outcome_of(verdict: &DeliveryResult) -> &'static str {
    match verdict {
        DeliveryResult::Delivered => "delivered",
        DeliveryResult::Failed { again_at: Some(_), .. } => "failed",
        DeliveryResult::Failed { again_at: None, .. } => "given_up",
    }
}

fn note(what: &'static str, outcome: Result<usize, StoreError>) {
    match outcome {
        // The next round tries again.
        Ok(_) | Err(StoreError::Busy) => {}
        Err(cause) => tracing::error!(what, %cause, "webhooks are delayed"),
    }
}
