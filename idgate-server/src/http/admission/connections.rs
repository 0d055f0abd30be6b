//! Open connections, counted in total and for each network. A connection counts as a stranger's
//! until a valid key was seen on it. Strangers hold at most three quarters of all places. When
//! these are taken, a new connection displaces the stranger that has been silent longest. When all
//! strangers are busy, a new connection gets a short probation in the reserved part, to show a
//! valid key. So a tenant gets in however many addresses an attacker has, and its valid key then
//! moves it out of the strangers' way.

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

/// Open connections: in total, and for each capped network.
pub(crate) struct Connections {
    most: usize,
    most_strangers: usize,
    /// The maximum on probation: half of the part reserved from strangers.
    most_newcomers: usize,
    per_peer: usize,
    /// The maximum for one client: a quarter of the part reserved from strangers.
    per_client: usize,
    open: Mutex<Open>,
}

/// What is known about a connection. Variants that come first here are displaced first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Standing {
    /// No valid key was seen on it.
    Stranger,
    /// No valid key yet, and it holds a reserved place: it is on probation.
    Newcomer,
    /// A valid key was seen on it, or it comes from a trusted proxy.
    Known,
}

/// Why a connection gets no place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Full {
    /// Its peer has reached its limit.
    Peer,
    /// All places are taken, and all connections are busy.
    All,
}

/// A counted connection; dropping it frees its place.
pub(crate) struct Slot {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) peer: IpAddr,
    displaced: Arc<Notify>,
    /// Requests being answered; a stream counts as one.
    busy: Arc<AtomicUsize>,
    /// It started on probation.
    newcomer: bool,
}

/// While this exists, its connection is not displaced.
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
    /// `most` in total, `per_peer` for one peer.
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

    /// A place for a connection of `peer`. A `trusted` proxy forwards many clients and is not
    /// capped.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr, trusted: bool) -> Result<Slot, Full> {
        let peer = peer.to_canonical();
        let capped = (!trusted).then_some(peer);
        let mut open = self.open();
        if capped.is_some_and(|peer| self.is_at_limit(&open, peer)) {
            return Err(Full::Peer);
        }
        let standing = if trusted { Standing::Known } else { self.standing(&mut open) };
        // A newcomer may displace only another newcomer.
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

    /// Displaces a silent stranger when a resource other than places runs out.
    pub(crate) fn relieve(&self) {
        let _ = self.open().displace(Standing::Newcomer);
    }

    /// Reports how many connections there are, and how many were displaced.
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

    /// The standing of a new stranger: among the strangers, if there is room or one of them is
    /// silent.
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
    /// Marks the connection as busy while a request is answered.
    pub(crate) fn busy(&self) -> Busy {
        let Self { connections, number, busy, .. } = self;
        busy.fetch_add(1, Ordering::Relaxed);
        connections.open().speaks(*number);
        Busy { connections: connections.clone(), number: *number, busy: busy.clone() }
    }

    /// Records that a valid key was seen, with its client if it is a tenant's. Connections beyond
    /// the client's share of the reserved part remain strangers.
    pub(crate) fn know(&self, client: Option<&TenantId>) {
        self.connections.open().know(self.number, client, self.connections.per_client);
    }

    /// Whether it must still show a valid key.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.newcomer && self.connections.open().standing(self.number) == Some(Standing::Newcomer)
    }

    /// Resolves when the probation has lasted for `time` without a valid key: the connection must
    /// end immediately, unless there is room among the strangers now.
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

    /// Whether its place was given to another connection.
    pub(crate) fn is_displaced(&self) -> bool {
        self.connections.open().standing(self.number).is_none()
    }

    /// Resolves when its place was given to another connection and no request is being answered, so
    /// that it can end immediately. Otherwise the next response announces the end.
    pub(crate) async fn displaced_in_silence(&self) {
        self.displaced.notified().await;
        if self.busy.load(Ordering::Relaxed) > 0 {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Only the last one counts: a response may still be sent after its request is done.
        if self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.connections.open().falls_silent(self.number);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // It may have been displaced already.
        let _ = self.connections.open().leave(self.number);
    }
}
