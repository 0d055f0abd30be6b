//! How many requests of one client are under way at a time. The others wait for their turn, so that a
//! client at full speed is in its own way and in nobody else's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::Method;
use idgate_core::ids::TenantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests that read, which cost processor time and little else: what a few cores do at once.
const READING: usize = 16;
/// Requests that write, which mostly wait for the disk: as many as share one commit.
const WRITING: usize = 64;

/// What a request does.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Kind {
    Reading,
    Writing,
}

impl Kind {
    /// By its method.
    pub(crate) fn of(method: &Method) -> Self {
        if method.is_safe() { Self::Reading } else { Self::Writing }
    }

    const fn places(self) -> usize {
        match self {
            Self::Reading => READING,
            Self::Writing => WRITING,
        }
    }
}

type Places = HashMap<(TenantId, Kind), Arc<Semaphore>>;

/// The places of all clients that have requests under way.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<Places>>);

/// The place of one request; dropping it frees it.
pub(crate) struct Turn {
    turns: Turns,
    of: (TenantId, Kind),
    places: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// A place of the client, first come, first served.
    pub(crate) async fn take(&self, client: &TenantId, kind: Kind) -> Turn {
        let of = (client.clone(), kind);
        let places = self.places();
        let places = {
            let mut places = places;
            places
                .entry(of.clone())
                .or_insert_with(|| Arc::new(Semaphore::new(kind.places())))
                .clone()
        };
        // Made before the wait: dropped in it, it tidies up as well.
        let mut turn = Turn { turns: self.clone(), of, places, permit: None };
        // It is never closed.
        turn.permit = turn.places.clone().acquire_owned().await.ok();
        turn
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Whether the client has no other place left.
    pub(crate) fn was_the_last(&self) -> bool {
        self.places.available_permits() == 0
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut places = self.turns.places();
        // The table's and this one: nobody else has a place or waits for one.
        if Arc::strong_count(&self.places) <= 2 {
            places.remove(&self.of);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn waits(turns: &Turns, client: &str, kind: Kind) -> bool {
        let client = TenantId::new(client);
        let take = turns.take(&client, kind);
        tokio::time::timeout(Duration::from_millis(20), take).await.is_err()
    }

    #[tokio::test]
    async fn who_has_all_places_waits_for_them_and_nobody_else_does() {
        let turns = Turns::default();
        let mut held = Vec::new();
        for _ in 0..READING {
            held.push(turns.take(&TenantId::new("cli_a"), Kind::Reading).await);
        }
        assert!(held.last().unwrap().was_the_last());
        assert!(waits(&turns, "cli_a", Kind::Reading).await);
        assert!(!waits(&turns, "cli_a", Kind::Writing).await);
        assert!(!waits(&turns, "cli_b", Kind::Reading).await);
        held.pop();
        assert!(!waits(&turns, "cli_a", Kind::Reading).await);
    }

    #[tokio::test]
    async fn clients_without_a_request_are_forgotten() {
        let turns = Turns::default();
        let held = turns.take(&TenantId::new("cli_a"), Kind::Reading).await;
        let also = turns.take(&TenantId::new("cli_a"), Kind::Reading).await;
        drop(held);
        assert_eq!(turns.places().len(), 1);
        drop(also);
        assert!(turns.places().is_empty());
    }
}
