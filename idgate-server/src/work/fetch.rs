//! Fetching of status lists and CRLs (decisions 7): what is known is not fetched, what is being
//! fetched is not fetched twice, and everything ends with one budget. What the gateway lacks itself
//! is told apart from what a source does: only the latter is anybody's answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::limits::MAX_STATUS_BYTES;
use idgate_core::time::UnixMillis;
use idgate_core::verify::{Need, VerifiedSource};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

pub use super::cache::Scope;
use super::cache::SourceCache;
use super::egress::{self, Egress, EgressError};
pub use super::flights::{Allowance, Asked};
use super::flights::{Flights, Stage};
use super::permits::{Permits, Place};
use crate::limits::{FETCH_PATIENCE, FETCH_TIME};
use crate::telemetry::Use;

impl Allowance {
    /// For an answer whose first fetch begins.
    pub fn of_one_answer() -> Self {
        Self { turns: FETCH_PATIENCE, sources: FETCH_TIME }
    }
}

/// Asks status sources, and remembers what they said.
pub struct Fetcher {
    egress: Egress,
    cache: Mutex<SourceCache>,
    flights: Flights,
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

/// A body, counted while it is held.
#[derive(Clone)]
pub struct Fetched(Arc<(egress::Fetched, OwnedSemaphorePermit)>);

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        self.0.0.as_ref()
    }
}

impl Fetcher {
    /// A fetcher that knows nothing yet.
    pub fn new(egress: Egress) -> Self {
        let (cache, flights) = (Mutex::default(), Flights::default());
        Self { egress, cache, flights, permits: Permits::new() }
    }

    /// How many fetches are under way, and how many may be.
    pub fn used(&self) -> Use {
        self.permits.used()
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

    /// Fetches all that is asked at once, in the turns of its issuers and within what is `allowed`,
    /// which is less afterwards.
    pub async fn fetch(
        self: &Arc<Self>,
        all_asked: Vec<Asked>,
        allowed: &mut Allowance,
    ) -> Vec<(Need, Came)> {
        let before = *allowed;
        let mut fetches = JoinSet::new();
        let mut fetched: Vec<(Need, Came)> = Vec::with_capacity(all_asked.len());
        for asked in all_asked {
            let (fetcher, need) = (self.clone(), asked.0.clone());
            let nth = fetched.len();
            fetches.spawn(async move {
                let (came, left) = fetcher.fetch_one(asked, before).await;
                (nth, came, left)
            });
            // As it stays when the task panics.
            fetched.push((need, Came::NotAsked));
        }
        while let Some(outcome) = fetches.join_next().await {
            let Ok((nth, came, left)) = outcome else { continue };
            *allowed = allowed.least(left);
            if let Some((_, slot)) = fetched.get_mut(nth) {
                *slot = came;
            }
        }
        fetched
    }

    async fn fetch_one(self: Arc<Self>, asked: Asked, allowed: Allowance) -> (Came, Allowance) {
        let (fetcher, to_ask) = (self.clone(), asked.clone());
        let fly = |stage| async move { fetcher.fly(to_ask, &stage).await };
        let (came, left) = self.flights.board(&asked, fly).ride(allowed).await;
        match came {
            Came::NotAsked if left.turns.is_zero() => report(&asked.0, &"no permit"),
            Came::Nothing if left.sources.is_zero() => report(&asked.0, &"timeout"),
            _ => {}
        }
        (came, left)
    }

    /// Asks for `need`, for all who wait for it.
    async fn fly(&self, (need, issuers): Asked, stage: &watch::Sender<Stage>) {
        let place = Place::of(&need, issuers);
        // For as long as somebody waits.
        let Some((of_its_place, one_of_all)) = self.permits.acquire(place).await else { return };
        stage.send_replace(Stage::Asking);
        let room = of_its_place.room();
        let got = self.egress.fetch(need.uri(), need.accept(), MAX_STATUS_BYTES, room);
        let came = match timeout(FETCH_TIME, got).await {
            Ok(Ok(body)) => Came::Body(Fetched(Arc::new((body, one_of_all)))),
            Ok(Err(error)) => {
                report(&need, &error);
                if error == EgressError::OwnFault { Came::NotAsked } else { Came::Nothing }
            }
            Err(_late) => {
                report(&need, &"timeout");
                Came::Nothing
            }
        };
        drop(of_its_place);
        stage.send_replace(Stage::Landed(came));
    }
}

/// A panic elsewhere leaves the cache whole: every change is one call.
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
