//! Memory for bodies in flight: one budget in bytes for all. What a body may take is taken before it
//! is read and given back with the last copy of it; what does not fit is told to come back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::peer::{self, Network};
use crate::limits::{MAX_REMEMBERED_PAYERS, MEMORY_PER_BODY_BYTE, PROXY_SHARES};
use idgate_base::telemetry::Use;

/// The largest body, and what it may cost: a share is never smaller.
const LARGEST: usize = idgate_core::limits::MAX_RESPONSE_BYTES * MEMORY_PER_BODY_BYTE;
/// The unit in which memory is counted.
const KIB: usize = 1024;

/// The budget.
pub(crate) struct BodyMemory {
    all: Arc<Semaphore>,
    /// How much that is.
    units: usize,
    /// The part that is not kept for tenants.
    strangers: Arc<Semaphore>,
    /// The part of that which is not kept for small bodies.
    large: Arc<Semaphore>,
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
    /// Trusted proxies that name nobody.
    Proxies,
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

/// Which part of a body memory is taken for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// All of a small one, or the beginning of another.
    Small,
    /// What is beyond that.
    Large,
}

impl BodyMemory {
    /// `bytes` in total; a peer or client that has its share waits so long for more.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        let all = units(bytes.max(LARGEST));
        let eighth = all / 8;
        let strangers = all.saturating_sub(eighth).max(units(LARGEST));
        let large = strangers.saturating_sub(eighth).max(units(LARGEST));
        Self {
            all: Arc::new(Semaphore::new(all)),
            units: all,
            strangers: Arc::new(Semaphore::new(strangers)),
            large: Arc::new(Semaphore::new(large)),
            share: eighth.max(units(LARGEST)),
            shares: Mutex::default(),
            wait,
        }
    }

    /// How much is taken, and how much there is.
    pub(crate) fn used(&self) -> Use {
        let taken = self.units.saturating_sub(self.all.available_permits());
        Use::of(taken.saturating_mul(KIB), self.units.saturating_mul(KIB))
    }

    /// Takes what `length` bytes of a body may cost, or `None`: there is not so much left.
    pub(crate) async fn take(&self, length: usize, part: Part, payer: &Payer) -> Option<Held> {
        let wanted = u32::try_from(units(length.saturating_mul(MEMORY_PER_BODY_BYTE))).ok()?;
        let mut held = Held::default();
        let shares = async {
            for share in self.shares_of(payer) {
                held.0.push(share.acquire_many_owned(wanted).await.ok()?);
            }
            Some(())
        };
        tokio::time::timeout(self.wait, shares).await.ok()??;
        let stranger = !matches!(payer, Payer::Client(_));
        let large = (stranger && part == Part::Large).then_some(&self.large);
        let strangers = stranger.then_some(&self.strangers);
        for pool in [large, strangers, Some(&self.all)].into_iter().flatten() {
            held.0.push(pool.clone().try_acquire_many_owned(wanted).ok()?);
        }
        Some(held)
    }

    /// The shares that `payer` draws on: of every network that it is in, so that nobody has more for
    /// owning many addresses.
    fn shares_of(&self, payer: &Payer) -> Vec<Arc<Semaphore>> {
        let all = units(usize::MAX).min(Semaphore::MAX_PERMITS);
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= MAX_REMEMBERED_PAYERS {
            // Whoever holds or awaits memory holds the semaphore.
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let mut share = |holder, times: usize| {
            let size = self.share.saturating_mul(times).min(all);
            shares.entry(holder).or_insert_with(|| Arc::new(Semaphore::new(size))).clone()
        };
        match payer {
            Payer::Proxy => vec![share(Holder::Proxies, PROXY_SHARES)],
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
    async fn a_peer_has_an_eighth_large_bodies_six_and_strangers_together_seven() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for n in 0..6 {
            for _ in 0..4 {
                let peer = stranger(&format!("192.0.2.{n}"));
                held.push(memory.take(MIB, Part::Large, &peer).await.unwrap());
            }
            let peer = stranger(&format!("192.0.2.{n}"));
            assert!(memory.take(1, Part::Small, &peer).await.is_none());
        }
        // What is kept for small bodies is there for them, whoever sends large ones.
        let other = stranger("192.0.2.200");
        assert!(memory.take(1, Part::Large, &other).await.is_none());
        for _ in 0..64 {
            held.push(memory.take(64 * 1024, Part::Small, &other).await.unwrap());
        }
        assert!(memory.take(1, Part::Small, &stranger("192.0.2.201")).await.is_none());
        assert!(memory.take(1, Part::Small, &Payer::Proxy).await.is_none());
        // What is kept for tenants is there, and one of them has no more than its share.
        for _ in 0..64 {
            let taken = memory.take(64 * 1024, Part::Small, &Payer::Client("a".into())).await;
            held.push(taken.unwrap());
        }
        assert!(memory.take(1, Part::Small, &Payer::Client("b".into())).await.is_none());
        drop(held);
        assert!(memory.take(MIB, Part::Large, &other).await.is_some());
    }

    #[tokio::test]
    async fn proxies_that_name_nobody_have_half() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(memory.take(MIB, Part::Large, &Payer::Proxy).await.unwrap());
        }
        assert!(memory.take(1, Part::Small, &Payer::Proxy).await.is_none());
        assert!(memory.take(MIB, Part::Large, &stranger("192.0.2.1")).await.is_some());
    }

    #[tokio::test]
    async fn many_addresses_of_one_network_share_what_it_has() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for n in 0..16 {
            let peer = stranger(&format!("2001:db8:0:{n:x}::1"));
            held.push(memory.take(MIB, Part::Large, &peer).await.unwrap());
        }
        // Four times the share of one /64.
        assert!(memory.take(MIB, Part::Large, &stranger("2001:db8:0:ff::1")).await.is_none());
        assert!(memory.take(MIB, Part::Large, &stranger("2001:db8:0:100::1")).await.is_some());
    }

    #[tokio::test]
    async fn the_smallest_budget_holds_one_body_of_the_largest_size() {
        let memory = BodyMemory::new(0, SOON);
        assert!(memory.take(MIB, Part::Large, &stranger("192.0.2.1")).await.is_some());
        assert!(memory.take(MIB, Part::Small, &Payer::Client("a".into())).await.is_some());
    }
}
