//! Open connections, counted in total and for each network. A connection is a stranger's until a
//! good key was seen on it. Strangers hold three quarters of all places at most; when those are
//! taken, the one of them that has been silent longest makes room for whoever comes. When all of them
//! are busy, whoever comes has a moment in the part that is kept for others, to show a good key. So
//! however many addresses somebody has, a tenant gets in, and with its key it is in nobody's way any
//! more.

mod open;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idgate_core::TenantId;
use tokio::sync::Notify;

use self::open::Open;
use crate::http::peer;
use idgate_base::clock::Clock;
use idgate_base::telemetry::Telemetry;

/// Open connections: in total, and per network that is capped.
pub(crate) struct Connections {
    most: usize,
    most_strangers: usize,
    /// Of those that are on probation, half of what strangers leave.
    most_newcomers: usize,
    per_peer: usize,
    /// Of one client, a quarter of what strangers leave.
    per_client: usize,
    open: Mutex<Open>,
}

/// What is known of a connection. Those that come first here make room first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Standing {
    /// No good key was seen on it.
    Stranger,
    /// None yet, and it stands where others should: it is on probation.
    Newcomer,
    /// One was, or it is a trusted proxy's.
    Known,
}

/// Why there is no place for a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Full {
    /// Its peer has as many as it may.
    Peer,
    /// There are as many as there may be, and all of them are busy.
    All,
}

/// A counted connection; dropping it frees its place.
pub(crate) struct Slot {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) peer: IpAddr,
    displaced: Arc<Notify>,
    /// A request is being answered, or it has become a stream.
    busy: Arc<AtomicUsize>,
    /// It came on probation.
    newcomer: bool,
}

/// While it lives, its connection makes room for nobody.
pub(crate) struct Busy {
    connections: Arc<Connections>,
    number: u64,
    busy: Arc<AtomicUsize>,
}

impl Full {
    /// Its name in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::All => "all",
        }
    }
}

impl Connections {
    /// `most` of all, `per_peer` of one peer.
    pub(crate) fn new(most: usize, per_peer: usize) -> Self {
        let kept = most / 4;
        Self {
            most,
            most_strangers: most.saturating_sub(kept),
            most_newcomers: kept / 2,
            per_peer,
            per_client: (kept / 4).max(1),
            open: Mutex::default(),
        }
    }

    /// A place for a connection of `peer`. A `trusted` proxy speaks for many and is not capped.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr, trusted: bool) -> Result<Slot, Full> {
        let peer = peer.to_canonical();
        let capped = (!trusted).then_some(peer);
        let mut open = self.open();
        if capped.is_some_and(|peer| self.is_at_limit(&open, peer)) {
            return Err(Full::Peer);
        }
        let standing = if trusted { Standing::Known } else { self.standing(&mut open) };
        // Among newcomers only one of them makes room.
        let is_full = standing == Standing::Newcomer && open.newcomers() >= self.most_newcomers;
        if is_full {
            open.displace(Standing::Newcomer).ok_or(Full::All)?;
        } else if open.total() >= self.most {
            open.displace(Standing::Known).ok_or(Full::All)?;
        }
        let displaced = Arc::new(Notify::new());
        let number = open.enter(capped, standing, displaced.clone());
        drop(open);
        let (busy, newcomer) = (Arc::default(), standing == Standing::Newcomer);
        Ok(Slot { connections: self.clone(), number, peer, displaced, busy, newcomer })
    }

    /// Makes a stranger go that is silent, for want of something else than places.
    pub(crate) fn relieve(&self) {
        let _ = self.open().displace(Standing::Newcomer);
    }

    /// Tells how many there are, and how many had to make room.
    pub(crate) fn report(&self, telemetry: &Telemetry) {
        let open = self.open();
        for (kind, standing) in [
            ("stranger", Standing::Stranger),
            ("newcomer", Standing::Newcomer),
            ("known", Standing::Known),
        ] {
            telemetry.connections(kind, open.count(standing), open.displaced(standing));
        }
    }

    /// Where a stranger comes in: among its like, if there is room or one of them is silent.
    fn standing(&self, open: &mut Open) -> Standing {
        let room = open.count(Standing::Stranger) < self.most_strangers;
        if room || open.displace(Standing::Stranger).is_some() {
            return Standing::Stranger;
        }
        Standing::Newcomer
    }

    fn is_at_limit(&self, open: &Open, peer: IpAddr) -> bool {
        peer::networks(peer)
            .any(|(network, times)| open.of(network) >= self.per_peer.saturating_mul(times))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// A request is being answered from here on.
    pub(crate) fn busy(&self) -> Busy {
        let Self { connections, number, busy, .. } = self;
        busy.fetch_add(1, Ordering::Relaxed);
        connections.open().speaks(*number);
        Busy { connections: connections.clone(), number: *number, busy: busy.clone() }
    }

    /// A good key was seen, of this client if it was a tenant's. A client that has its share of what
    /// is kept from strangers stays a stranger with the rest.
    pub(crate) fn know(&self, client: Option<&TenantId>) {
        self.connections.open().know(self.number, client, self.connections.per_client);
    }

    /// Whether it still has to show a good key.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.newcomer && self.connections.open().standing(self.number) == Some(Standing::Newcomer)
    }

    /// Resolves when its probation has lasted for `time` and no good key was seen: it is to end at
    /// once, unless strangers have left room for it.
    pub(crate) async fn probation_failed(&self, clock: &dyn Clock, time: Duration) {
        if self.newcomer {
            clock.sleep(time).await;
            let most_strangers = self.connections.most_strangers;
            if !self.connections.open().settle(self.number, most_strangers) {
                return;
            }
        }
        std::future::pending().await
    }

    /// Whether its place was given to another.
    pub(crate) fn is_displaced(&self) -> bool {
        self.connections.open().standing(self.number).is_none()
    }

    /// Resolves when its place was given to another and no request is being answered: it may end at
    /// once. Otherwise its answer says that it ends.
    pub(crate) async fn displaced_in_silence(&self) {
        self.displaced.notified().await;
        if self.busy.load(Ordering::Relaxed) > 0 {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // The last of them: an answer may still be sent when its request is done.
        if self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.connections.open().falls_silent(self.number);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // It may have been displaced before.
        let _ = self.connections.open().leave(self.number);
    }
}
