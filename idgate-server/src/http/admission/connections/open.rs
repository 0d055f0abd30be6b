//! The table of open connections: who stands where, and who has been silent for how long.

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
    /// Numbers connections, and the moments at which they fell silent.
    last: u64,
    counts: Counts,
    displaced: Counts,
    entries: HashMap<u64, Entry>,
    /// Those that wait for their peer, the longest silent of each standing first.
    silent: BTreeMap<(Standing, u64), u64>,
    networks: HashMap<Network, usize>,
    clients: HashMap<TenantId, usize>,
}

/// One number for each standing.
#[derive(Default)]
struct Counts {
    strangers: usize,
    newcomers: usize,
    known: usize,
}

/// A connection that is open.
struct Entry {
    standing: Standing,
    /// Since when it is silent; `None`: it is busy.
    since: Option<u64>,
    /// `None` for a trusted proxy, which is not capped.
    capped: Option<IpAddr>,
    /// Whose share it counts in.
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
    /// How many stand there.
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

    /// How many that stood there had to make room, ever.
    pub(super) fn displaced(&self, standing: Standing) -> usize {
        self.displaced.of(standing)
    }

    /// How many are of this network.
    pub(super) fn of(&self, network: Network) -> usize {
        self.networks.get(&network).copied().unwrap_or_default()
    }

    /// `None`: it is not there any more.
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

    /// Takes a connection out of all counts; says where it stood, and how to tell it.
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

    /// Closes the connection that has been silent longest, of those that stand as low as possible and
    /// not above `highest`.
    pub(super) fn displace(&mut self, highest: Standing) -> Option<()> {
        let (&(standing, _), &number) = self.silent.first_key_value()?;
        if standing > highest {
            return None;
        }
        // Its task takes a moment to end; its place is free from here on.
        let (standing, displaced) = self.leave(number)?;
        add(self.displaced.of_mut(standing));
        displaced.notify_one();
        Some(())
    }

    /// A good key was seen on a connection, of `client` if it was a tenant's, which may have
    /// `per_client` of them.
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

    /// What becomes of a newcomer whose time is over: it stays if it is not one any more, or if there
    /// is room among strangers.
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

    /// A connection is busy from here on.
    pub(super) fn speaks(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number)
            && let Some(since) = entry.since.take()
        {
            self.silent.remove(&(entry.standing, since));
        }
    }

    /// And silent from here on.
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

/// One less; what is at none is not remembered.
fn forget<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    let Some(count) = counts.get_mut(key) else { return };
    subtract(count);
    if *count == 0 {
        counts.remove(key);
    }
}
