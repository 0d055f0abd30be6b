//! Memory for bodies in flight: one budget in bytes for all. What a body may take is taken before it
//! is read and given back with the last copy of it; what does not fit is told to come back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::peer::{self, Network};

/// What a byte of a body may cost at once: received, decoded, decrypted, and as values of a tree.
const FACTOR: usize = 8;
/// The largest body, and what it may cost: a share is never smaller.
const LARGEST: usize = idgate_core::limits::MAX_RESPONSE_BYTES * FACTOR;
/// The unit in which memory is counted.
const KIB: usize = 1024;
/// Holders that are remembered before those without bodies are forgotten.
const FORGET_AT: usize = 1024;

/// The budget.
pub(crate) struct BodyMemory {
    all: Arc<Semaphore>,
    /// The part that is not kept for tenants.
    strangers: Arc<Semaphore>,
    /// What one holder may have of it, in units.
    share: usize,
    shares: Mutex<HashMap<Holder, Arc<Semaphore>>>,
    wait: Duration,
}

/// For whom a body is read.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Holder {
    /// A peer, by one of its networks.
    Network(Network),
    /// A client, by its id.
    Client(String),
}

/// What a body takes; dropping it gives it back.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<OwnedSemaphorePermit>);

/// Whose budget a body comes out of.
#[derive(Clone, Debug)]
pub(crate) enum Payer {
    /// A peer that nothing is known of.
    Stranger(IpAddr),
    /// A proxy that speaks for many, and for strangers.
    Proxy,
    /// A client whose key was good.
    Client(String),
}

impl BodyMemory {
    /// `bytes` in total; a peer or client that has its share waits so long for more.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        let all = units(bytes.max(LARGEST));
        let strangers = all.saturating_sub(all / 8).max(units(LARGEST));
        Self {
            all: Arc::new(Semaphore::new(all)),
            strangers: Arc::new(Semaphore::new(strangers.min(all))),
            share: (all / 8).max(units(LARGEST)),
            shares: Mutex::default(),
            wait,
        }
    }

    /// Takes what a body of `length` bytes may cost, or `None`: there is not so much left.
    pub(crate) async fn take(&self, length: usize, payer: &Payer) -> Option<Held> {
        let wanted = u32::try_from(units(length.saturating_mul(FACTOR))).ok()?;
        let mut held = Held::default();
        let shares = async {
            for share in self.shares_of(payer) {
                held.0.push(share.acquire_many_owned(wanted).await.ok()?);
            }
            Some(())
        };
        tokio::time::timeout(self.wait, shares).await.ok()??;
        if !matches!(payer, Payer::Client(_)) {
            held.0.push(self.strangers.clone().try_acquire_many_owned(wanted).ok()?);
        }
        held.0.push(self.all.clone().try_acquire_many_owned(wanted).ok()?);
        Some(held)
    }

    /// The shares that `payer` draws on: of every network that it is in, so that nobody has more for
    /// owning many addresses.
    fn shares_of(&self, payer: &Payer) -> Vec<Arc<Semaphore>> {
        let all = units(usize::MAX).min(Semaphore::MAX_PERMITS);
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= FORGET_AT {
            // Whoever holds or awaits memory holds the semaphore.
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let mut share = |holder, times: usize| {
            let size = self.share.saturating_mul(times).min(all);
            shares.entry(holder).or_insert_with(|| Arc::new(Semaphore::new(size))).clone()
        };
        match payer {
            Payer::Proxy => Vec::new(),
            Payer::Client(id) => vec![share(Holder::Client(id.clone()), 1)],
            Payer::Stranger(address) => peer::networks(*address)
                .map(|(network, times)| share(Holder::Network(network), times))
                .collect(),
        }
    }
}

impl Held {
    /// Holds what `other` holds, too.
    pub(crate) fn and(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Holds a permit, too.
    pub(crate) fn with(&mut self, permit: OwnedSemaphorePermit) {
        self.0.push(permit);
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(KIB)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;
    const SOON: Duration = Duration::from_millis(20);

    fn stranger(address: &str) -> Payer {
        Payer::Stranger(address.parse().unwrap())
    }

    #[tokio::test]
    async fn a_peer_has_an_eighth_and_strangers_together_seven() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for n in 0..7 {
            for _ in 0..4 {
                held.push(memory.take(MIB, &stranger(&format!("192.0.2.{n}"))).await.unwrap());
            }
            assert!(memory.take(1, &stranger(&format!("192.0.2.{n}"))).await.is_none());
        }
        assert!(memory.take(1, &stranger("192.0.2.200")).await.is_none());
        assert!(memory.take(1, &Payer::Proxy).await.is_none());
        // What is kept for tenants is there, and one of them has no more than its share.
        for _ in 0..64 {
            held.push(memory.take(64 * 1024, &Payer::Client("a".into())).await.unwrap());
        }
        assert!(memory.take(1, &Payer::Client("b".into())).await.is_none());
        drop(held);
        assert!(memory.take(MIB, &stranger("192.0.2.200")).await.is_some());
    }

    #[tokio::test]
    async fn many_addresses_of_one_network_share_what_it_has() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for n in 0..16 {
            let taken = memory.take(MIB, &stranger(&format!("2001:db8:0:{n:x}::1"))).await;
            held.push(taken.unwrap());
        }
        // Four times the share of one /64.
        assert!(memory.take(MIB, &stranger("2001:db8:0:ff::1")).await.is_none());
        assert!(memory.take(MIB, &stranger("2001:db8:0:100::1")).await.is_some());
    }

    #[tokio::test]
    async fn the_smallest_budget_holds_one_body_of_the_largest_size() {
        let memory = BodyMemory::new(0, SOON);
        assert!(memory.take(MIB, &stranger("192.0.2.1")).await.is_some());
        assert!(memory.take(MIB, &Payer::Client("a".into())).await.is_some());
    }
}
