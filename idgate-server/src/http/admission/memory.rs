//! Memory for request bodies in flight: one budget in bytes for all. Memory is reserved before a
//! body is read, and freed with the last copy of the body. Requests that do not fit are told to try
//! again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::peer::{self, Network};
use crate::limits::{MAX_REMEMBERED_PAYERS, MEMORY_PER_BODY_BYTE, PROXY_SHARES};
use idgate_base::telemetry::Use;

/// The cost of the largest body. A share is never smaller.
const LARGEST: usize = idgate_core::limits::MAX_RESPONSE_BYTES * MEMORY_PER_BODY_BYTE;
/// The unit in which memory is counted.
const KIB: usize = 1024;

/// The budget, and its parts.
pub(crate) struct BodyMemory {
    all: Arc<Semaphore>,
    /// The size of the budget.
    units: usize,
    /// The part that is not reserved for tenants.
    strangers: Arc<Semaphore>,
    /// The part of `strangers` that is not reserved for small bodies.
    large: Arc<Semaphore>,
    /// The maximum for one holder, in units.
    share: usize,
    shares: Mutex<HashMap<Holder, Arc<Semaphore>>>,
    wait: Duration,
}

/// The holder of a share.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Holder {
    /// A network of the peer.
    Network(Network),
    /// A client, by its id.
    Client(String),
    /// Trusted proxies that do not name their client.
    Proxies,
}

/// Memory of a body; dropping it frees the memory.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<OwnedSemaphorePermit>);

/// Who is charged for a body.
#[derive(Clone, Debug)]
pub(crate) enum Payer {
    /// A peer without a valid key.
    Stranger(IpAddr),
    /// A trusted proxy, which forwards many clients, strangers among them.
    Proxy,
    /// A client with a valid key.
    Client(String),
}

/// The part of a body that memory is taken for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// All of a small body, or the start of a larger one.
    Small,
    /// The rest of a larger body.
    Large,
}

impl BodyMemory {
    /// A budget of `bytes`. A peer or client that has used up its share waits up to `wait` for
    /// more.
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

    /// Takes the memory that `length` bytes of a body may cost; `None` if there is not enough left.
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

    /// The shares that `payer` uses: those of every network that it is in, so that owning many
    /// addresses gives no more memory.
    fn shares_of(&self, payer: &Payer) -> Vec<Arc<Semaphore>> {
        let all = units(usize::MAX).min(Semaphore::MAX_PERMITS);
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= MAX_REMEMBERED_PAYERS {
            // Everyone who holds or awaits memory holds the semaphore.
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
    /// Also holds what `other` holds.
    pub(crate) fn and(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Also holds this permit.
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
    async fn one_peer_has_an_eighth_large_bodies_six_eighths_and_all_strangers_seven_eighths() {
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
        // The part reserved for small bodies stays available to them, even when large bodies fill
        // the rest.
        let other = stranger("192.0.2.200");
        assert!(memory.take(1, Part::Large, &other).await.is_none());
        for _ in 0..64 {
            held.push(memory.take(64 * 1024, Part::Small, &other).await.unwrap());
        }
        assert!(memory.take(1, Part::Small, &stranger("192.0.2.201")).await.is_none());
        assert!(memory.take(1, Part::Small, &Payer::Proxy).await.is_none());
        // The part reserved for tenants stays available to them, and no tenant has more than its
        // share.
        for _ in 0..64 {
            let taken = memory.take(64 * 1024, Part::Small, &Payer::Client("a".into())).await;
            held.push(taken.unwrap());
        }
        assert!(memory.take(1, Part::Small, &Payer::Client("b".into())).await.is_none());
        drop(held);
        assert!(memory.take(MIB, Part::Large, &other).await.is_some());
    }

    #[tokio::test]
    async fn proxies_that_do_not_name_their_client_have_half() {
        let memory = BodyMemory::new(256 * MIB, SOON);
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(memory.take(MIB, Part::Large, &Payer::Proxy).await.unwrap());
        }
        assert!(memory.take(1, Part::Small, &Payer::Proxy).await.is_none());
        assert!(memory.take(MIB, Part::Large, &stranger("192.0.2.1")).await.is_some());
    }

    #[tokio::test]
    async fn addresses_of_one_network_share_its_memory() {
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
