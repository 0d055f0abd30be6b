//! The table of open connections: their standing, and how long each has been silent.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use idgate_core::TenantId;
use tokio::sync::Notify;

use super::Standing;
use crate::http::peer::{self, Network};

#[derive(Default)]
pub(super) struct Open {
    /// Numbers connections, and orders the moments at which they fell silent.
    last: u64,
    counts: Counts,
    displaced: Counts,
    entries: HashMap<u64, Entry>,
    /// Connections that wait for their peer, sorted by standing, longest silent first.
    silent: BTreeMap<(Standing, u64), u64>,
    networks: HashMap<Network, usize>,
    clients: HashMap<TenantId, usize>,
}

/// One counter for each standing.
#[derive(Default)]
struct Counts {
    strangers: usize,
    newcomers: usize,
    known: usize,
}

/// A connection that is open.
struct Entry {
    standing: Standing,
    /// When it fell silent; `None` while it is busy.
    since: Option<u64>,
    /// `None` for a trusted proxy, which is not capped.
    capped: Option<IpAddr>,
    /// The client in whose share it counts.
    client: Option<TenantId>,
    displaced: Arc<Notify>,
}

impl Counts {
    fn of(&self, standing: Standing) -> usize {
        match standing {
            Standing::Stranger => self.strangers,
            Standing::Newcomer => self.newcomers,
            Standing::Known => self.known,
        }
    }

    fn of_mut(&mut self, standing: Standing) -> &mut usize {
        match standing {
            Standing::Stranger => &mut self.strangers,
            Standing::Newcomer => &mut self.newcomers,
            Standing::Known => &mut self.known,
        }
    }
}

impl Open {
    /// The number of connections with this standing.
    pub(super) fn count(&self, standing: Standing) -> usize {
        self.counts.of(standing)
    }

    pub(super) fn newcomers(&self) -> usize {
        self.counts.newcomers
    }

    pub(super) fn total(&self) -> usize {
        let Counts { strangers, newcomers, known } = self.counts;
        strangers.saturating_add(newcomers).saturating_add(known)
    }

    /// The number of connections with this standing that were ever displaced.
    pub(super) fn displaced(&self, standing: Standing) -> usize {
        self.displaced.of(standing)
    }

    /// The number of connections of this network.
    pub(super) fn of(&self, network: Network) -> usize {
        self.networks.get(&network).copied().unwrap_or_default()
    }

    /// `None` if it is no longer in the table.
    pub(super) fn standing(&self, number: u64) -> Option<Standing> {
        self.entries.get(&number).map(|entry| entry.standing)
    }

    pub(super) fn enter(
        &mut self,
        capped: Option<IpAddr>,
        standing: Standing,
        displaced: Arc<Notify>,
    ) -> u64 {
        let number = self.next();
        add(self.counts.of_mut(standing));
        for (network, _) in capped.into_iter().flat_map(peer::networks) {
            add(self.networks.entry(network).or_default());
        }
        self.silent.insert((standing, number), number);
        let entry = Entry { standing, since: Some(number), capped, client: None, displaced };
        self.entries.insert(number, entry);
        number
    }

    /// Removes a connection from all counts; returns its standing, and how to notify it.
    pub(super) fn leave(&mut self, number: u64) -> Option<(Standing, Arc<Notify>)> {
        let Entry { standing, since, capped, client, displaced } = self.entries.remove(&number)?;
        if let Some(since) = since {
            self.silent.remove(&(standing, since));
        }
        subtract(self.counts.of_mut(standing));
        for (network, _) in capped.into_iter().flat_map(peer::networks) {
            forget(&mut self.networks, &network);
        }
        if let Some(client) = client {
            forget(&mut self.clients, &client);
        }
        Some((standing, displaced))
    }

    /// Displaces the connection that has been silent longest, among those with the lowest standing,
    /// up to `highest`.
    pub(super) fn displace(&mut self, highest: Standing) -> Option<()> {
        let (&(standing, _), &number) = self.silent.first_key_value()?;
        if standing > highest {
            return None;
        }
        // Its task ends a moment later, but its place is free from here on.
        let (standing, displaced) = self.leave(number)?;
        add(self.displaced.of_mut(standing));
        displaced.notify_one();
        Some(())
    }

    /// Records that a valid key was seen on a connection, of `client` if it was a tenant's. A
    /// client may have `per_client` such connections.
    pub(super) fn know(&mut self, number: u64, client: Option<&TenantId>, per_client: usize) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        if entry.standing == Standing::Known {
            return;
        }
        if let Some(client) = client {
            let count = self.clients.entry(client.clone()).or_default();
            if *count >= per_client {
                return;
            }
            add(count);
            entry.client = Some(client.clone());
        }
        self.stand(number, Standing::Known);
    }

    /// Decides about a newcomer whose probation is over: it stays if it is no longer a newcomer, or
    /// if there is room among the strangers.
    pub(super) fn settle(&mut self, number: u64, most_strangers: usize) -> bool {
        if self.standing(number) != Some(Standing::Newcomer) {
            return true;
        }
        let room = self.counts.strangers < most_strangers;
        if room {
            self.stand(number, Standing::Stranger);
        }
        room
    }

    /// Marks a connection as busy.
    pub(super) fn speaks(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number)
            && let Some(since) = entry.since.take()
        {
            self.silent.remove(&(entry.standing, since));
        }
    }

    /// Marks a connection as silent.
    pub(super) fn falls_silent(&mut self, number: u64) {
        let since = self.next();
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.since = Some(since);
            self.silent.insert((entry.standing, since), number);
        }
    }

    fn stand(&mut self, number: u64, standing: Standing) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.standing, standing);
        subtract(self.counts.of_mut(before));
        add(self.counts.of_mut(standing));
        if let Some(since) = entry.since {
            self.silent.remove(&(before, since));
            self.silent.insert((standing, since), number);
        }
    }

    fn next(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.total() == 0
            && self.entries.is_empty()
            && self.silent.is_empty()
            && self.networks.is_empty()
            && self.clients.is_empty()
    }
}

fn add(count: &mut usize) {
    *count = count.saturating_add(1);
}

fn subtract(count: &mut usize) {
    *count = count.saturating_sub(1);
}

/// Decrements a count, and removes it at zero.
fn forget<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    let Some(count) = counts.get_mut(key) else { return };
    subtract(count);
    if *count == 0 {
        counts.remove(key);
    }
}
