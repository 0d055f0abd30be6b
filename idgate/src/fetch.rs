//! Fetches status lists and CRLs. Cached sources are not fetched, a source is not fetched twice at
//! the same time, and one budget limits everything. Shortages of this machine are distinguished
//! from faults of a source: only the latter count as an answer.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::limits::MAX_STATUS_BYTES;
use idgate_core::revocation::{SourceFault, VerifiedSource};
use idgate_core::{Need, Supplied, UnixMillis, Verification};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use crate::cache::SourceCache;
use crate::delivery::{Delivery, Fetched};
use crate::egress::{Body, Egress, EgressError, Room, Wanted};
use crate::flights::{Allowance, Asked, Flights, Stage};
use crate::limits::{FETCH_PATIENCE, FETCH_TIME, MAX_REQUESTS};
use crate::permits::{Permits, Place};
use crate::plan::Budget;
use crate::questions::Questions;
use crate::requests::Requests;
use idgate_core::verify::Scope;

impl Allowance {
    /// For an answer whose first fetch starts now: 5 s for sources, 2 s to wait for permits before
    /// that, and 20 requests, including redirects.
    pub fn of_one_answer() -> Self {
        Self { turns: FETCH_PATIENCE, sources: FETCH_TIME, requests: MAX_REQUESTS }
    }
}

/// Fetches status sources and caches them. It serves many verifications at the same time; the
/// limits on fetches in progress and on the cache (1,024 lists, and 64 MiB) are for all of them
/// together.
///
/// A source is fetched again when it is no longer fresh (`ttl`, `exp`, nextUpdate), and after a day
/// at the latest: by the presentation that needs it then, or earlier by [`Fetcher::renew_due`].
/// While it is down, its last good copy is used, up to 24 hours longer and never past its own end
/// (`exp`, nextUpdate). So a CRL whose source stays down is used until its nextUpdate, however
/// distant that is, and a list without `ttl` until its `exp`.
///
/// [`Fetcher::fetch`] needs a tokio runtime.
pub struct Fetcher {
    egress: Egress,
    pub(crate) cache: Mutex<SourceCache>,
    pub(crate) budget: Mutex<Budget>,
    flights: Flights,
    permits: Permits,
}

/// The error when a source could not be fetched because there was no permit, no file descriptor or
/// no route on this machine. This says nothing about the source: release the hold with
/// [`idgate_core::Session::released`], and ask the wallet to try again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NotAsked;

impl fmt::Display for NotAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status source could not be fetched")
    }
}

impl std::error::Error for NotAsked {}

/// The results for all needs of a round.
pub struct Outcomes(pub(crate) Vec<(Need, Delivery)>);

impl Fetcher {
    /// Creates a fetcher with an empty cache.
    pub fn over(egress: Egress) -> Self {
        let (cache, budget, flights) = (Mutex::default(), Mutex::default(), Flights::default());
        Self { egress, cache, budget, flights, permits: Permits::new() }
    }

    /// The number of fetches in progress, and the maximum.
    pub fn used(&self) -> (usize, usize) {
        self.permits.used()
    }

    /// Whether the cache has any source.
    pub fn remembers_any(&self) -> bool {
        !lock(&self.cache).is_empty()
    }

    /// Answers `needs` at `now` from fresh cached sources, in `scope`.
    ///
    /// Returns `false` if no cached source answers any of them. Otherwise step again, without a
    /// hold.
    pub fn recall(
        &self,
        verification: &mut Verification<'_>,
        needs: &[Need],
        scope: &Scope,
        now: UnixMillis,
    ) -> bool {
        self.recall_for(verification, needs, scope, now)
    }

    pub(crate) fn recall_for(
        &self,
        questions: &mut impl Questions,
        needs: &[Need],
        scope: &Scope,
        now: UnixMillis,
    ) -> bool {
        let mut served = false;
        for need in needs {
            let fresh = lock(&self.cache).fresh(&(need.clone(), scope.clone()), now);
            for source in fresh {
                served |= questions.reuse(&source);
            }
        }
        served
    }

    /// Supplies the results for each need, at `now`, and caches authentic sources in `scope`. While
    /// a source is down, its last good copy is used. This uses the CPU: a list of a few kilobytes
    /// may inflate to megabytes.
    ///
    /// # Errors
    /// A source could not be fetched because of a fault of this machine. In this case not even the
    /// last good copy is used, because it is not known whether its source is down.
    pub fn settle(
        &self,
        verification: &mut Verification<'_>,
        outcomes: &Outcomes,
        scope: &Scope,
        now: UnixMillis,
    ) -> Result<(), NotAsked> {
        self.settle_for(verification, outcomes, scope, now)
    }

    pub(crate) fn settle_for(
        &self,
        questions: &mut impl Questions,
        outcomes: &Outcomes,
        scope: &Scope,
        now: UnixMillis,
    ) -> Result<(), NotAsked> {
        for (need, came) in &outcomes.0 {
            match came {
                Delivery::Body(body) => {
                    let authentic = questions.supply(need, Supplied::Bytes(body.as_ref()), now);
                    authentic.iter().for_each(warn_of_missing_number);
                    self.keep(need, scope, authentic, now);
                }
                Delivery::Nothing(_) | Delivery::Spent => {
                    let last_good =
                        lock(&self.cache).last_good(&(need.clone(), scope.clone()), now);
                    for source in last_good {
                        questions.reuse(&source);
                    }
                    // For callers that were not served; the verdict then builds on the hold.
                    let what = match came {
                        Delivery::Nothing(fault) => Supplied::Failed(*fault),
                        _ => Supplied::Unavailable,
                    };
                    questions.supply(need, what, now);
                }
                Delivery::NotAsked => {}
            }
            // If the status is unknown now, an earlier copy that says that the credential is not
            // good still refuses it.
            for source in lock(&self.cache).kept(&(need.clone(), scope.clone())) {
                questions.reuse(&source);
            }
        }
        match outcomes.0.iter().all(|(_, came)| !matches!(came, Delivery::NotAsked)) {
            true => Ok(()),
            false => Err(NotAsked),
        }
    }

    fn keep(&self, need: &Need, scope: &Scope, sources: Vec<VerifiedSource>, now: UnixMillis) {
        if !sources.is_empty() {
            lock(&self.cache).put((need.clone(), scope.clone()), sources, now);
        }
    }

    /// Fetches everything that is asked in parallel, with the permits of its issuers and within
    /// `allowed`, which is reduced. It ends within that, whatever the sources do. Dropping it
    /// cancels the fetches that no other caller waits for.
    pub async fn fetch(
        self: &Arc<Self>,
        all_asked: Vec<Asked>,
        allowed: &mut Allowance,
    ) -> Outcomes {
        let before = *allowed;
        let requests = Requests::of(before.requests);
        let mut fetches = JoinSet::new();
        let mut fetched: Vec<(Need, Delivery)> = Vec::with_capacity(all_asked.len());
        for asked in all_asked {
            let (fetcher, need, requests) = (self.clone(), asked.need.clone(), requests.clone());
            // The first request for each, before redirects use up the rest.
            if !requests.take() {
                report(&need, &EgressError::NoRequestLeft);
                fetched.push((need, Delivery::Spent));
                continue;
            }
            let nth = fetched.len();
            fetches.spawn(async move {
                let (came, left) = fetcher.fetch_one(asked, before, &requests).await;
                (nth, came, left)
            });
            // This result remains if the task panics.
            fetched.push((need, Delivery::NotAsked));
        }
        while let Some(outcome) = fetches.join_next().await {
            let Ok((nth, came, left)) = outcome else { continue };
            *allowed = allowed.least(left);
            if let Some((_, slot)) = fetched.get_mut(nth) {
                *slot = came;
            }
        }
        allowed.requests = requests.left();
        Outcomes(fetched)
    }

    async fn fetch_one(
        self: Arc<Self>,
        asked: Asked,
        mut allowed: Allowance,
        requests: &Requests,
    ) -> (Delivery, Allowance) {
        loop {
            let (fetcher, to_ask, paying) = (self.clone(), asked.clone(), requests.clone());
            let fly = |stage| async move { fetcher.fly(to_ask, &stage, &paying).await };
            let boarded = self.flights.board(&asked, fly);
            let is_own = boarded.is_own();
            let (came, left) = boarded.ride(allowed).await;
            match came {
                // The requests of another answer ran out, not those of this one.
                Delivery::Spent if !is_own => {
                    allowed = left;
                    continue;
                }
                Delivery::NotAsked if left.turns.is_zero() => report(&asked.need, &"no permit"),
                Delivery::Nothing(_) if left.sources.is_zero() => report(&asked.need, &"timeout"),
                _ => {}
            }
            return (came, left);
        }
    }

    /// Fetches `need` for all callers that wait for it, with the requests of the first of them.
    async fn fly(
        &self,
        Asked { need, issuers }: Asked,
        stage: &watch::Sender<Stage>,
        requests: &Requests,
    ) {
        let place = Place::of(&need, issuers);
        // As long as a caller waits.
        let Some((of_its_place, one_of_all)) = self.permits.acquire(place).await else { return };
        stage.send_replace(Stage::Asking);
        let (of_its_place, one_of_all) = (Arc::new(of_its_place), Arc::new(one_of_all));
        // A look-up that outlasts its time still counts as a fetch in progress.
        let egress = self.egress.keeping(Arc::new((of_its_place.clone(), one_of_all.clone())));
        let got = ask(&egress, &need, of_its_place.room(), requests);
        let came = match timeout(FETCH_TIME, got).await {
            Ok(Ok(body)) => Delivery::Body(Fetched::new(body, one_of_all)),
            Ok(Err(error)) => {
                report(&need, &error);
                Delivery::of(error)
            }
            Err(_late) => {
                report(&need, &"timeout");
                Delivery::Nothing(SourceFault::TooSlow)
            }
        };
        drop((egress, of_its_place));
        stage.send_replace(Stage::Landed(came));
    }
}

/// Asks for one form of `need`, and if the source does not have it, for the other form.
async fn ask(
    egress: &Egress,
    need: &Need,
    room: &Room,
    requests: &Requests,
) -> Result<Body, EgressError> {
    let form = |accept| {
        let wanted = Wanted { accept: Some(accept), limit: MAX_STATUS_BYTES, room, requests };
        egress.fetch_wanted(need.uri(), wanted)
    };
    let first = form(need.accept()).await;
    match (&first, need.accept_otherwise()) {
        (Err(EgressError::Status(404 | 406 | 415)), Some(other)) if requests.take() => {
            form(other).await
        }
        (Err(EgressError::Status(404 | 406 | 415)), Some(_)) => Err(EgressError::NoRequestLeft),
        _ => first,
    }
}

/// A panic elsewhere leaves the cache consistent: every change is one call.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// RFC 5280 5.2.3 requires a CRLNumber; nothing here depends on it.
fn warn_of_missing_number(source: &VerifiedSource) {
    if let VerifiedSource::Crl { uri, crl } = source
        && !crl.is_numbered()
    {
        let url = Url::parse(uri).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        tracing::warn!(host, "a CRL without CRLNumber was accepted");
    }
}

/// Logs only the host, because a path may identify a credential.
fn report(need: &Need, error: &dyn std::fmt::Display) {
    let url = Url::parse(need.uri()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    tracing::warn!(host, %error, "a status source is unavailable");
}

#[cfg(any(test, feature = "internals"))]
#[allow(clippy::unwrap_used)]
impl Fetcher {
    /// A fetcher that may reach `ranges` in addition to public addresses.
    pub fn reaching(ranges: &[&str]) -> Arc<Self> {
        let allowed = ranges.iter().map(|range| crate::range::Cidr::parse(range).unwrap());
        Arc::new(Self::over(Egress::new(allowed.collect(), None).unwrap()))
    }

    /// How many callers wait for fetches in progress.
    pub fn waiting(&self) -> usize {
        self.flights.passengers()
    }
}
