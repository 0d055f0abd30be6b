//! Fetches in progress. A caller that needs a source that is already being fetched waits for that
//! fetch, which is cancelled when no caller waits any more. Two kinds of waiting are distinguished:
//! for a permit, which the gateway gives, and for an answer, which the source gives.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idgate_core::revocation::SourceFault;
use idgate_core::{IssuerId, Need};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::delivery::Delivery;
use super::questions::Questions;
#[cfg(any(test, feature = "internals"))]
use crate::limits::MAX_REQUESTS;

/// The remaining time and requests for the fetches of one answer, over all rounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Allowance {
    /// For permits: a shortage of our own, which does not reduce a source's time.
    pub(super) turns: Duration,
    /// For sources to answer, from the first look-up of their names.
    pub(super) sources: Duration,
    /// Requests, including redirects: no more than the sources that an answer may name.
    pub(super) requests: usize,
}

/// The progress of a fetch.
pub(super) enum Stage {
    /// It has no permit yet.
    Waiting,
    /// The source is being fetched.
    Asking,
    /// It has ended.
    Landed(Delivery),
}

/// A source to fetch, and the issuers whose credentials need it. Each issuer has its own permits,
/// so that no caller waits for the permits of others.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Asked {
    pub(super) need: Need,
    pub(super) issuers: Vec<IssuerId>,
}

impl Asked {
    /// Returns one for each need of a verification.
    pub fn all(questions: &impl Questions, needs: Vec<Need>) -> Vec<Self> {
        let asked = needs.into_iter().map(|need| {
            let issuers = questions.issuers_of(&need);
            Self { need, issuers }
        });
        asked.collect()
    }
}

/// All fetches in progress, by source.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<Asked, Arc<Flight>>>>);

struct Flight {
    stage: watch::Receiver<Stage>,
    passengers: AtomicUsize,
    task: AbortHandle,
}

/// A place on a flight; the last one to leave removes the flight and cancels it.
pub(super) struct Boarded {
    flights: Flights,
    asked: Asked,
    flight: Arc<Flight>,
    /// Whether the flight was started for this place.
    is_own: bool,
}

impl Allowance {
    /// The remainder after parallel rounds: the least of each.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            turns: self.turns.min(other.turns),
            sources: self.sources.min(other.sources),
            requests: self.requests.min(other.requests),
        }
    }
}

#[cfg(any(test, feature = "internals"))]
impl Allowance {
    /// An allowance with these values, for tests.
    pub const fn of(turns: Duration, sources: Duration) -> Self {
        Self { turns, sources, requests: MAX_REQUESTS }
    }
}

impl Flights {
    /// The number of places on all flights.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn passengers(&self) -> usize {
        let board = self.board_of_all();
        board.values().map(|flight| flight.passengers.load(Ordering::Relaxed)).sum()
    }

    /// A place on the flight in progress for `asked`, or on a new one that `fly` starts.
    pub(super) fn board<F>(
        &self,
        asked: &Asked,
        fly: impl FnOnce(watch::Sender<Stage>) -> F,
    ) -> Boarded
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut board = self.board_of_all();
        let (flight, is_own) = match board.get(asked).filter(|flight| flight.is_under_way()) {
            Some(flight) => (flight.clone(), false),
            None => {
                let (stage, seen) = watch::channel(Stage::Waiting);
                let task = tokio::spawn(fly(stage)).abort_handle();
                let flight = Flight { stage: seen, passengers: AtomicUsize::new(0), task };
                let flight = Arc::new(flight);
                board.insert(asked.clone(), flight.clone());
                (flight, true)
            }
        };
        // Changed only under the lock of all flights.
        flight.passengers.fetch_add(1, Ordering::Relaxed);
        drop(board);
        Boarded { flights: self.clone(), asked: asked.clone(), flight, is_own }
    }

    /// A panic elsewhere leaves the map consistent: every change is one call.
    fn board_of_all(&self) -> MutexGuard<'_, HashMap<Asked, Arc<Flight>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// A landed flight is not reused: a later caller fetches again.
    fn is_under_way(&self) -> bool {
        !self.task.is_finished() && !matches!(*self.stage.borrow(), Stage::Landed(_))
    }
}

impl Boarded {
    /// Whether the flight was started for this place, and was not in progress before.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Waits for the result, and returns it with the remainder of `allowed`. If the source's time
    /// is over, it counts as no answer from the source. If no permit came or the fetch broke off,
    /// it counts as not asked.
    pub(super) async fn ride(self, allowed: Allowance) -> (Delivery, Allowance) {
        let mut left = allowed;
        let mut stage = self.flight.stage.clone();
        let begun = Instant::now();
        let has_turn = stage.wait_for(|stage| !matches!(stage, Stage::Waiting));
        let turn = timeout(allowed.turns, has_turn).await.is_ok_and(|seen| seen.is_ok());
        left.turns = left.turns.saturating_sub(begun.elapsed());
        if !turn {
            return (Delivery::NotAsked, left);
        }
        let begun = Instant::now();
        let landed = stage.wait_for(|stage| matches!(stage, Stage::Landed(_)));
        let came = match timeout(allowed.sources, landed).await {
            Ok(Ok(stage)) => match &*stage {
                Stage::Landed(came) => came.clone(),
                Stage::Waiting | Stage::Asking => Delivery::NotAsked,
            },
            Ok(Err(_broken_off)) => Delivery::NotAsked,
            Err(_late) => Delivery::Nothing(SourceFault::TooSlow),
        };
        left.sources = left.sources.saturating_sub(begun.elapsed());
        (came, left)
    }
}

impl Drop for Boarded {
    fn drop(&mut self) {
        let mut board = self.flights.board_of_all();
        if self.flight.passengers.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        self.flight.task.abort();
        if board.get(&self.asked).is_some_and(|it| Arc::ptr_eq(it, &self.flight)) {
            board.remove(&self.asked);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use idgate_core::CredentialFormat;
    use idgate_testkit::patience::in_time;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);
    const LONG_ENOUGH: Allowance = Allowance::of(LONG, LONG);

    fn asked() -> Asked {
        let uri = "https://status.example/1".into();
        let need = Need::StatusList { uri, format: CredentialFormat::SdJwtVc };
        Asked { need, issuers: vec![IssuerId::new("issuer")] }
    }

    /// A flight that is controlled from outside.
    fn told() -> (watch::Sender<u8>, impl FnOnce(watch::Sender<Stage>) -> BoxFuture) {
        let (tell, mut told) = watch::channel(0);
        let fly = |stage: watch::Sender<Stage>| -> BoxFuture {
            Box::pin(async move {
                told.wait_for(|told| *told > 0).await.unwrap();
                stage.send_replace(Stage::Asking);
                told.wait_for(|told| *told > 1).await.unwrap();
                stage.send_replace(Stage::Landed(Delivery::Nothing(SourceFault::Broken)));
            })
        };
        (tell, fly)
    }

    type BoxFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

    #[tokio::test]
    async fn a_missing_permit_is_our_own_fault_and_a_missing_answer_the_sources() {
        let flights = Flights::default();
        let (tell, fly) = told();
        let first = flights.board(&asked(), fly);
        let (came, left) =
            flights.board(&asked(), |_| async {}).ride(Allowance::of(SHORT, LONG)).await;
        assert!(matches!(came, Delivery::NotAsked));
        assert_eq!(left, Allowance::of(Duration::ZERO, LONG));
        tell.send_replace(1);
        let (came, left) = first.ride(Allowance::of(LONG, SHORT)).await;
        assert!(matches!(came, Delivery::Nothing(_)));
        assert_eq!(left.sources, Duration::ZERO);
        assert!(left.turns > Duration::ZERO && left.turns <= LONG);
    }

    #[tokio::test]
    async fn a_flight_ends_only_with_its_last_passenger() {
        let flights = Flights::default();
        let (tell, fly) = told();
        let first = flights.board(&asked(), fly);
        let second = flights.board(&asked(), |_| async {});
        drop(first);
        tell.send_replace(1);
        assert_eq!(flights.board_of_all().len(), 1);
        drop(second);
        assert!(flights.board_of_all().is_empty());
        // No receiver is left.
        in_time("its flight ends", tell.closed()).await;
    }

    #[tokio::test]
    async fn landed_and_broken_flights_are_fetched_again() {
        let flights = Flights::default();
        let (tell, fly) = told();
        let landed = flights.board(&asked(), fly);
        tell.send_replace(2);
        while landed.flight.is_under_way() {
            tokio::task::yield_now().await;
        }
        let broken = flights.board(&asked(), |_| async {});
        assert!(matches!(broken.ride(LONG_ENOUGH).await.0, Delivery::NotAsked));
        let (_tell, fly) = told();
        let again = flights.board(&asked(), fly);
        assert!(matches!(landed.ride(LONG_ENOUGH).await.0, Delivery::Nothing(_)));
        assert!(again.flight.is_under_way());
        assert_eq!(flights.board_of_all().len(), 1);
    }
}
