//! Large bodies cost memory while they arrive and a thread while they are verified. The first is
//! bounded for each peer, so that slow senders are in nobody's way but their own; the second for
//! all, and only for bodies that are complete.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Peers that are remembered before those without large bodies are forgotten.
const FORGET_AT: usize = 1024;

/// The places for large bodies.
pub(crate) struct Large {
    per_peer: usize,
    wait: Duration,
    arriving: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    verifying: Arc<Semaphore>,
}

impl Large {
    /// `per_peer` bodies in flight of one peer, `verifying` being verified for all; `wait`: how
    /// long a peer's next body waits for a place.
    pub(crate) fn new(per_peer: usize, verifying: usize, wait: Duration) -> Self {
        let verifying = Arc::new(Semaphore::new(verifying));
        Self { per_peer, wait, arriving: Mutex::default(), verifying }
    }

    /// A place among the bodies of `peer`; `None`: they fill all of them.
    pub(crate) async fn arrive(&self, peer: IpAddr) -> Option<OwnedSemaphorePermit> {
        let place = self.places_of(peer).acquire_owned();
        tokio::time::timeout(self.wait, place).await.ok()?.ok()
    }

    /// The right to be verified; `None`: too many are.
    pub(crate) fn verify(&self) -> Option<OwnedSemaphorePermit> {
        self.verifying.clone().try_acquire_owned().ok()
    }

    fn places_of(&self, peer: IpAddr) -> Arc<Semaphore> {
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        if arriving.len() >= FORGET_AT {
            // Whoever holds or awaits a place holds the semaphore.
            arriving.retain(|_, places| Arc::strong_count(places) > 1);
        }
        arriving.entry(peer).or_insert_with(|| Arc::new(Semaphore::new(self.per_peer))).clone()
    }
}
