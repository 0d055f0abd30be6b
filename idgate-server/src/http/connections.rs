//! Open connections, counted in total and for each network. A connection is a stranger's until a
//! good key was seen on it. Strangers hold three quarters of all places at most; when those are
//! taken, the one of them that has been silent longest makes room for whoever comes. So however many
//! addresses somebody has, a tenant gets in, and with its key it is no longer in anybody's way.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::peer::{self, Network};
use crate::telemetry::Telemetry;

/// Open connections: in total, and per network that is capped.
pub(crate) struct Connections {
    most: usize,
    most_strangers: usize,
    per_peer: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Numbers connections, and the moments at which they fell silent.
    last: u64,
    strangers: usize,
    known: usize,
    entries: HashMap<u64, Entry>,
    /// Those that wait for their peer: strangers before others, the longest silent first.
    silent: BTreeMap<(bool, u64), u64>,
    networks: HashMap<Network, usize>,
}

/// A connection that is open.
struct Entry {
    known: bool,
    /// Since when it is silent; `None`: it is busy.
    since: Option<u64>,
    /// `None` for a trusted proxy, which is not capped.
    capped: Option<IpAddr>,
    displaced: Arc<Notify>,
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
    busy: AtomicBool,
}

/// While it lives, its connection makes room for nobody.
pub(crate) struct Busy<'s>(&'s Slot);

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
        let most_strangers = most.saturating_sub(most / 4);
        Self { most, most_strangers, per_peer, open: Mutex::default() }
    }

    /// A place for a connection of `peer`. A `trusted` proxy speaks for many and is not capped.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr, trusted: bool) -> Result<Slot, Full> {
        let peer = peer.to_canonical();
        let capped = (!trusted).then_some(peer);
        let mut open = self.open();
        if capped.is_some_and(|peer| self.is_at_limit(&open, peer)) {
            return Err(Full::Peer);
        }
        let total = open.strangers.saturating_add(open.known);
        if total >= self.most {
            open.displace(false).ok_or(Full::All)?;
        } else if !trusted && open.strangers >= self.most_strangers {
            open.displace(true).ok_or(Full::All)?;
        }
        let displaced = Arc::new(Notify::new());
        let number = open.enter(capped, trusted, displaced.clone());
        drop(open);
        let busy = AtomicBool::new(false);
        Ok(Slot { connections: self.clone(), number, peer, displaced, busy })
    }

    /// Makes a stranger go that is silent, for want of something else than places.
    pub(crate) fn relieve(&self) {
        let _ = self.open().displace(true);
    }

    /// Tells how many there are.
    pub(crate) fn report(&self, telemetry: &Telemetry) {
        let open = self.open();
        telemetry.connections(open.strangers, open.known);
    }

    fn is_at_limit(&self, open: &Open, peer: IpAddr) -> bool {
        peer::networks(peer).any(|(network, times)| {
            let count = open.networks.get(&network).copied().unwrap_or_default();
            count >= self.per_peer.saturating_mul(times)
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn enter(&mut self, capped: Option<IpAddr>, known: bool, displaced: Arc<Notify>) -> u64 {
        let number = self.next();
        let counted = if known { &mut self.known } else { &mut self.strangers };
        *counted = counted.saturating_add(1);
        for (network, _) in capped.into_iter().flat_map(peer::networks) {
            let count = self.networks.entry(network).or_default();
            *count = count.saturating_add(1);
        }
        self.silent.insert((known, number), number);
        let entry = Entry { known, since: Some(number), capped, displaced };
        self.entries.insert(number, entry);
        number
    }

    /// Takes a connection out of all counts.
    fn leave(&mut self, number: u64) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        if let Some(since) = entry.since {
            self.silent.remove(&(entry.known, since));
        }
        let counted = if entry.known { &mut self.known } else { &mut self.strangers };
        *counted = counted.saturating_sub(1);
        for (network, _) in entry.capped.into_iter().flat_map(peer::networks) {
            let Some(count) = self.networks.get_mut(&network) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
        Some(entry)
    }

    /// Closes the connection that has been silent longest, a stranger's before another's; only a
    /// stranger's, when it must be one.
    fn displace(&mut self, stranger: bool) -> Option<()> {
        let (&(known, _), &number) = self.silent.first_key_value()?;
        if known && stranger {
            return None;
        }
        // Its task takes a moment to end; its place is free from here on.
        self.leave(number)?.displaced.notify_one();
        Some(())
    }

    fn next(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }
}

impl Slot {
    /// A request is being answered from here on.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.busy.store(true, Ordering::Relaxed);
        let mut open = self.connections.open();
        let Open { entries, silent, .. } = &mut *open;
        if let Some(entry) = entries.get_mut(&self.number)
            && let Some(since) = entry.since.take()
        {
            silent.remove(&(entry.known, since));
        }
        Busy(self)
    }

    /// A good key was seen.
    pub(crate) fn know(&self) {
        let mut open = self.connections.open();
        let Some(entry) = open.entries.get_mut(&self.number) else { return };
        if std::mem::replace(&mut entry.known, true) {
            return;
        }
        let since = entry.since;
        open.strangers = open.strangers.saturating_sub(1);
        open.known = open.known.saturating_add(1);
        if let Some(since) = since {
            open.silent.remove(&(false, since));
            open.silent.insert((true, since), self.number);
        }
    }

    /// Whether its place was given to another.
    pub(crate) fn is_displaced(&self) -> bool {
        !self.connections.open().entries.contains_key(&self.number)
    }

    /// Resolves when its place was given to another and no request is being answered: it may end at
    /// once. Otherwise its answer says that it ends.
    pub(crate) async fn displaced_in_silence(&self) {
        self.displaced.notified().await;
        if self.busy.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let Slot { connections, number, busy, .. } = self.0;
        busy.store(false, Ordering::Relaxed);
        let mut open = connections.open();
        let since = open.next();
        let Open { entries, silent, .. } = &mut *open;
        if let Some(entry) = entries.get_mut(number) {
            entry.since = Some(since);
            silent.insert((entry.known, since), *number);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // It may have been displaced before.
        let _ = self.connections.open().leave(self.number);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn connections(most: usize, per_peer: usize) -> Arc<Connections> {
        Arc::new(Connections::new(most, per_peer))
    }

    fn from(connections: &Arc<Connections>, peer: &str) -> Result<Slot, Full> {
        connections.admit(peer.parse().unwrap(), false)
    }

    #[test]
    fn the_longest_silent_stranger_makes_room_and_whoever_showed_a_key_does_not() {
        let all = connections(8, 100);
        let tenant = from(&all, "192.0.2.1").unwrap();
        tenant.know();
        let strangers: Vec<Slot> =
            (0..6).map(|n| from(&all, &format!("198.51.100.{n}")).unwrap()).collect();
        let first_speaks = strangers[0].busy();
        let newcomer = from(&all, "192.0.2.2").unwrap();
        assert!(!strangers[0].is_displaced() && strangers[1].is_displaced());
        drop(first_speaks);
        let another = from(&all, "192.0.2.3").unwrap();
        assert!(strangers[2].is_displaced() && !strangers[0].is_displaced());
        newcomer.know();
        // Its place among the strangers is free again.
        let third = from(&all, "192.0.2.4").unwrap();
        assert!(!strangers[3].is_displaced());
        assert!(![&tenant, &newcomer, &another, &third].iter().any(|slot| slot.is_displaced()));
    }

    #[test]
    fn strangers_that_are_all_busy_leave_a_quarter_to_others_and_are_refused() {
        let all = connections(8, 100);
        let strangers: Vec<Slot> = (0..6).map(|_| from(&all, "192.0.2.1").unwrap()).collect();
        let busy: Vec<Busy<'_>> = strangers.iter().map(Slot::busy).collect();
        assert_eq!(from(&all, "192.0.2.2").err(), Some(Full::All));
        let proxies: Vec<Slot> =
            (0..2).map(|_| all.admit([10, 0, 0, 1].into(), true).unwrap()).collect();
        let _proxies_speak: Vec<Busy<'_>> = proxies.iter().map(Slot::busy).collect();
        assert_eq!(all.admit([10, 0, 0, 1].into(), true).err(), Some(Full::All));
        drop(busy);
        assert!(from(&all, "192.0.2.2").is_ok());
    }

    #[test]
    fn networks_are_nested() {
        let all = connections(10_000, 2);
        let mut open = Vec::new();
        let mut admit = |peer: String| {
            let slot = from(&all, &peer).ok()?;
            open.push(slot);
            Some(())
        };
        let of_one_64 = (0..9).filter_map(|n| admit(format!("2001:db8:1:100::{n:x}"))).count();
        let of_one_56 = (1..200).filter_map(|n| admit(format!("2001:db8:1:1{n:02x}::1"))).count();
        let of_one_48 = (2..200).filter_map(|n| admit(format!("2001:db8:1:{n:02x}00::1"))).count();
        assert_eq!((of_one_64, of_one_64 + of_one_56), (2, 8));
        assert_eq!(of_one_64 + of_one_56 + of_one_48, 32);
        assert!(admit("2001:db8:2::1".into()).is_some());
        drop(open);
        let empty = all.open();
        assert!(empty.networks.is_empty() && empty.entries.is_empty() && empty.silent.is_empty());
        assert_eq!((empty.strangers, empty.known), (0, 0));
    }
}
