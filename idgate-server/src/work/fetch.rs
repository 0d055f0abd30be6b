//! Fetching of status lists and CRLs (decisions 7): what is known is not fetched, what is being
//! fetched is not fetched twice, and everything ends with one budget. What the gateway lacks itself
//! is told apart from what a source does: only the latter is anybody's answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use idgate_core::limits::MAX_STATUS_BYTES;
use idgate_core::time::UnixMillis;
use idgate_core::verify::{Need, VerifiedSource};
use tokio::sync::{OnceCell, OwnedSemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use url::{Position, Url};

pub use super::cache::Scope;
use super::cache::SourceCache;
use super::egress::{Egress, EgressError};
use super::permits::Permits;

/// For a source to answer, from the first look at its name: all sources of one answer are asked at
/// once, so that this is also for all of them together (decisions 7).
const BUDGET: Duration = Duration::from_secs(5);
/// For a permit before that. It is our own want, and no part of what a source may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Both, and once more when whoever fetched for others gave up, or for the signer of a status list,
/// which is known once the list is there; less than the lease of the hold.
const LATEST: Duration = Duration::from_secs(10);

/// When the fetches of one answer end, whatever rounds they take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// For an answer whose first fetch begins now.
    pub fn of_one_answer() -> Self {
        Self(Instant::now() + LATEST)
    }
}

/// Asks status sources, and remembers what they said.
pub struct Fetcher {
    egress: Egress,
    cache: Mutex<SourceCache>,
    flights: Mutex<HashMap<Need, Arc<Flight>>>,
    permits: Permits,
}

/// What came of a need.
#[derive(Clone)]
pub enum Came {
    /// A body.
    Body(Fetched),
    /// The source, or the way to it, is out of order: it decides (`revocation_unknown`).
    Nothing,
    /// The gateway could not ask: it had no permit or no file descriptor. Nobody else's fault, so
    /// nothing follows from it.
    NotAsked,
}

/// A fetch under way or just ended.
#[derive(Default)]
struct Flight {
    outcome: OnceCell<Came>,
    passengers: AtomicUsize,
}

/// A body, counted while it is held.
#[derive(Clone)]
pub struct Fetched {
    bytes: Bytes,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Fetcher {
    /// A fetcher that knows nothing yet.
    pub fn new(egress: Egress) -> Self {
        Self { egress, cache: Mutex::default(), flights: Mutex::default(), permits: Permits::new() }
    }

    /// Sources that answer `need` at `now` without a fetch.
    pub fn fresh(&self, need: &Need, scope: &Scope, now: UnixMillis) -> Vec<Arc<VerifiedSource>> {
        lock(&self.cache).fresh(&(need.clone(), scope.clone()), now)
    }

    /// Sources that answer `need` at `now` although their place is down.
    pub fn last_good(
        &self,
        need: &Need,
        scope: &Scope,
        now: UnixMillis,
    ) -> Vec<Arc<VerifiedSource>> {
        lock(&self.cache).last_good(&(need.clone(), scope.clone()), now)
    }

    /// Remembers what turned out authentic.
    pub fn keep(&self, need: &Need, scope: &Scope, sources: Vec<VerifiedSource>, now: UnixMillis) {
        if !sources.is_empty() {
            lock(&self.cache).put((need.clone(), scope.clone()), sources, now);
        }
    }

    /// Fetches all of `needs` at once, in the budget of one answer.
    pub async fn fetch(
        self: &Arc<Self>,
        needs: Vec<Need>,
        Deadline(deadline): Deadline,
    ) -> Vec<(Need, Came)> {
        let mut fetches = JoinSet::new();
        let mut fetched: Vec<(Need, Came)> = Vec::with_capacity(needs.len());
        for need in needs {
            let (fetcher, asked) = (self.clone(), need.clone());
            let place = fetched.len();
            fetches.spawn(async move {
                let came = timeout_at(deadline, fetcher.join_flight(&asked)).await;
                (place, came.unwrap_or(Came::NotAsked))
            });
            // As it stays when the task panics.
            fetched.push((need, Came::NotAsked));
        }
        while let Some(outcome) = fetches.join_next().await {
            let Ok((place, came)) = outcome else { continue };
            if let Some((_, slot)) = fetched.get_mut(place) {
                *slot = came;
            }
        }
        fetched
    }

    /// Waits for the fetch of `need` that is under way, or makes it. When the one who makes it
    /// gives up, the next one goes on.
    async fn join_flight(&self, need: &Need) -> Came {
        let boarded = Boarded::new(self, need);
        boarded.flight.outcome.get_or_init(|| self.fetch_one(need)).await.clone()
    }

    async fn fetch_one(&self, need: &Need) -> Came {
        let permit = timeout(PATIENCE, self.permits.acquire(&place_of(need))).await;
        let Ok(Some((_of_its_host, one_of_all))) = permit else {
            report(need, &"no permit");
            return Came::NotAsked;
        };
        let got = self.egress.get(need.uri(), need.accept(), MAX_STATUS_BYTES);
        match timeout(BUDGET, got).await {
            Ok(Ok(bytes)) => Came::Body(Fetched { bytes, _permit: Arc::new(one_of_all) }),
            Ok(Err(error)) => {
                report(need, &error);
                if error == EgressError::OwnFault { Came::NotAsked } else { Came::Nothing }
            }
            Err(_late) => {
                report(need, &"timeout");
                Came::Nothing
            }
        }
    }
}

/// Host and port of a source; what cannot be asked anyway is one place.
fn place_of(need: &Need) -> String {
    let url = Url::parse(need.uri()).ok();
    url.map(|url| url[Position::BeforeHost..Position::AfterPort].to_owned()).unwrap_or_default()
}

/// A place on a flight; the last one to leave takes it off the board.
struct Boarded<'a> {
    fetcher: &'a Fetcher,
    need: &'a Need,
    flight: Arc<Flight>,
}

impl<'a> Boarded<'a> {
    fn new(fetcher: &'a Fetcher, need: &'a Need) -> Self {
        let mut flights = lock(&fetcher.flights);
        // What has landed is not news: whoever comes now asks again.
        let flight = match flights.get(need).filter(|flight| !flight.outcome.initialized()) {
            Some(flight) => flight.clone(),
            None => {
                let flight = Arc::new(Flight::default());
                flights.insert(need.clone(), flight.clone());
                flight
            }
        };
        // Changes under the lock of the board only.
        flight.passengers.fetch_add(1, Ordering::Relaxed);
        drop(flights);
        Self { fetcher, need, flight }
    }
}

impl Drop for Boarded<'_> {
    fn drop(&mut self) {
        let mut flights = lock(&self.fetcher.flights);
        let listed = flights.get(self.need).is_some_and(|it| Arc::ptr_eq(it, &self.flight));
        let last = self.flight.passengers.fetch_sub(1, Ordering::Relaxed) == 1;
        if listed && last {
            flights.remove(self.need);
        }
    }
}

/// A panic elsewhere leaves map and cache whole: every change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the host only: a path may tell credentials apart.
fn report(need: &Need, error: &dyn std::fmt::Display) {
    let url = Url::parse(need.uri()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    tracing::warn!(host, %error, "a status source is unavailable");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
impl Fetcher {
    /// One that may reach `ranges` besides public addresses.
    pub(crate) fn reaching(ranges: &[&str]) -> Arc<Self> {
        let allowed = ranges.iter().map(|range| crate::config::Cidr::parse(range).unwrap());
        Arc::new(Self::new(Egress::new(allowed.collect(), None).unwrap()))
    }
}
