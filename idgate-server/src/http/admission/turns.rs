//! Bounds the concurrent requests of one client. Further requests wait their turn, so that a client
//! at full speed slows down only itself.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{READS_PER_CLIENT, WAITING_PER_CLIENT, WRITES_PER_CLIENT};
use hyper::Method;
use idgate_core::TenantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The kind of a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Kind {
    Reading,
    Writing,
}

impl Kind {
    /// The kind of a method.
    pub(crate) fn of(method: &Method) -> Self {
        if method.is_safe() { Self::Reading } else { Self::Writing }
    }

    const fn places(self) -> usize {
        match self {
            Self::Reading => READS_PER_CLIENT,
            Self::Writing => WRITES_PER_CLIENT,
        }
    }
}

/// The places of one client for requests of one kind.
struct Places {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

type AllPlaces = HashMap<(TenantId, Kind), Arc<Places>>;

/// The places of all clients that have requests in progress.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<AllPlaces>>);

/// The client already has the maximum of waiting requests, so one more is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooMany;

/// The place of one request; dropping it frees it.
pub(crate) struct Turn {
    turns: Turns,
    of: (TenantId, Kind),
    places: Arc<Places>,
    permit: Option<OwnedSemaphorePermit>,
    has_waited: bool,
}

impl Turns {
    /// A place of the client, in order of arrival.
    pub(crate) async fn take(&self, client: &TenantId, kind: Kind) -> Result<Turn, TooMany> {
        let of = (client.clone(), kind);
        let places = self.places();
        let places = {
            let mut places = places;
            places.entry(of.clone()).or_insert_with(|| Arc::new(Places::new(kind))).clone()
        };
        // Created before the wait, so that its drop cleans up even if the wait is cancelled.
        let mut turn = Turn { turns: self.clone(), of, places, permit: None, has_waited: false };
        turn.permit = turn.places.free.clone().try_acquire_owned().ok();
        if turn.permit.is_none() {
            turn.permit = turn.places.wait().await?;
            turn.has_waited = true;
        }
        Ok(turn)
    }

    /// The result of `waiting`, with the place of `turn` released meanwhile: a slow client must not
    /// hold a place while it sends.
    pub(crate) async fn not_held<T>(
        &self,
        turn: &mut Option<Turn>,
        waiting: impl Future<Output = T>,
    ) -> Result<T, TooMany> {
        let Some((client, kind)) = turn.take().map(|turn| turn.of.clone()) else {
            return Ok(waiting.await);
        };
        let done = waiting.await;
        *turn = Some(self.take(&client, kind).await?);
        Ok(done)
    }

    /// The number of requests of this kind that have a place, and that wait for one.
    #[cfg(test)]
    pub(crate) fn count(&self, kind: Kind) -> (usize, usize) {
        let places = self.places();
        let of_kind = || places.iter().filter(|((_, other), _)| *other == kind).map(|(_, it)| it);
        let taken = of_kind().map(|it| kind.places().saturating_sub(it.free.available_permits()));
        (taken.sum(), of_kind().map(|it| it.waiting.load(Ordering::Relaxed)).sum())
    }

    fn places(&self) -> MutexGuard<'_, AllPlaces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn new(kind: Kind) -> Self {
        Self { free: Arc::new(Semaphore::new(kind.places())), waiting: AtomicUsize::new(0) }
    }

    async fn wait(&self) -> Result<Option<OwnedSemaphorePermit>, TooMany> {
        let waiting = Waiting::begin(&self.waiting);
        if waiting.before >= WAITING_PER_CLIENT {
            return Err(TooMany);
        }
        // The semaphore is never closed.
        Ok(self.free.clone().acquire_owned().await.ok())
    }
}

/// Counted while it lives.
struct Waiting<'a> {
    waiting: &'a AtomicUsize,
    /// The number that waited when it started.
    before: usize,
}

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        Self { waiting, before: waiting.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turn {
    /// Whether it had to wait.
    pub(crate) const fn has_waited(&self) -> bool {
        self.has_waited
    }

    /// Whether the client has no other place left.
    pub(crate) fn was_the_last(&self) -> bool {
        self.places.free.available_permits() == 0
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut places = self.turns.places();
        // One reference is the table's and one is this turn's: no other request has a place or
        // waits for one.
        if Arc::strong_count(&self.places) <= 2 {
            places.remove(&self.of);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn waits(turns: &Turns, client: &str, kind: Kind) -> bool {
        let client = TenantId::new(client);
        turns.take(&client, kind).now_or_never().is_none()
    }

    async fn take(turns: &Turns, kind: Kind) -> Turn {
        turns.take(&TenantId::new("cli_a"), kind).await.unwrap()
    }

    #[tokio::test]
    async fn a_client_that_uses_all_its_places_waits_and_other_clients_do_not() {
        let turns = Turns::default();
        let mut held = Vec::new();
        for _ in 0..READS_PER_CLIENT {
            held.push(take(&turns, Kind::Reading).await);
        }
        assert!(held.last().unwrap().was_the_last());
        assert!(held.iter().all(|turn| !turn.has_waited()));
        assert!(waits(&turns, "cli_a", Kind::Reading));
        assert!(!waits(&turns, "cli_a", Kind::Writing));
        assert!(!waits(&turns, "cli_b", Kind::Reading));
        let waiting = turns.clone();
        let waiting = tokio::spawn(async move { take(&waiting, Kind::Reading).await.has_waited() });
        while held[0].places.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        held.pop();
        assert!(waiting.await.unwrap());
        assert!(!waits(&turns, "cli_a", Kind::Reading));
    }

    #[tokio::test]
    async fn one_request_beyond_the_waiting_limit_is_refused_immediately() {
        let turns = Turns::default();
        let mut held = Vec::new();
        for _ in 0..WRITES_PER_CLIENT {
            held.push(take(&turns, Kind::Writing).await);
        }
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..WAITING_PER_CLIENT {
            let turns = turns.clone();
            waiting.spawn(async move { drop(take(&turns, Kind::Writing).await) });
        }
        while held[0].places.waiting.load(Ordering::Relaxed) < WAITING_PER_CLIENT {
            tokio::task::yield_now().await;
        }
        let (a, b) = (TenantId::new("cli_a"), TenantId::new("cli_b"));
        assert_eq!(turns.take(&a, Kind::Writing).await.err(), Some(TooMany));
        assert!(turns.take(&a, Kind::Reading).await.is_ok());
        assert!(turns.take(&b, Kind::Writing).await.is_ok());
        // Cancelled requests no longer count.
        waiting.shutdown().await;
        assert!(waits(&turns, "cli_a", Kind::Writing));
        drop(held);
        assert!(turns.places().is_empty());
    }

    #[tokio::test]
    async fn clients_without_a_request_are_forgotten() {
        let turns = Turns::default();
        let held = take(&turns, Kind::Reading).await;
        let also = take(&turns, Kind::Reading).await;
        drop(held);
        assert_eq!(turns.places().len(), 1);
        drop(also);
        assert!(turns.places().is_empty());
    }
}
