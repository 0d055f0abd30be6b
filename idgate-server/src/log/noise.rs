//! Limits log lines for events that can be caused endlessly; the rest is counted and summed up
//! regularly. So nobody can fill a log volume from outside. Strangers, tenants and the gateway's
//! own faults are counted separately, so that none of them hides the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idgate_core::UnixMillis;

use crate::limits::{LOGGED_OTHERS, LOGGED_PEERS, MAX_LOGGED_SUMS};
use idgate_base::rate_limit::{Policy, RateLimiter};

/// Lines of one peer, of one client beyond its limits, or of one fault on one route: enough to see
/// the problem.
const EACH: Policy = Policy::new("log-each", 30, 30);
/// Lines of all strangers, and of all clients beyond their limits: 35 kB a second.
const OVERALL: Policy = Policy::new("log", 300, 3);

/// The source of a line.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Line<'a> {
    /// A stranger.
    Peer(IpAddr),
    /// A client beyond its limits.
    Client(&'a str),
    /// A fault of the gateway, by route and code.
    Fault(&'static str, &'static str),
}

/// An event without a line of its own.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum What {
    /// A request, answered with this status.
    Request(u16),
    /// A connection that was refused.
    Connection,
}

/// Decides which lines are written, and counts the others.
pub(crate) struct Noise {
    peers: RateLimiter,
    others: RateLimiter,
    strangers: Mutex<Sums<(String, What)>>,
    clients: Mutex<Sums<(String, u16)>>,
    faults: Mutex<Sums<(&'static str, &'static str)>>,
}

struct Sums<K> {
    apart: HashMap<K, u64>,
    others: u64,
}

impl Noise {
    pub(crate) fn new() -> Self {
        Self {
            peers: RateLimiter::remembering(LOGGED_PEERS),
            others: RateLimiter::remembering(LOGGED_OTHERS),
            strangers: Mutex::default(),
            clients: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// Whether another such line fits. A source beyond its own share does not use up the shared
    /// one.
    pub(crate) fn admits(&self, line: Line<'_>, now: UnixMillis) -> bool {
        let each = (EACH, Some(line));
        match line {
            Line::Peer(_) => self.peers.charge(&[each, (OVERALL, None)], now),
            Line::Client(_) => self.others.charge(&[each, (OVERALL, None)], now),
            // The number of routes and codes is bounded.
            Line::Fault(..) => self.others.charge(&[each], now),
        }
        .is_ok()
    }

    /// Counts an unlogged event of a stranger. `network` is the peer as logs show it.
    pub(crate) fn count(&self, network: String, what: What) {
        lock(&self.strangers).count((network, what));
    }

    /// Counts an unlogged request of a client.
    pub(crate) fn count_of_client(&self, client_id: &str, status: u16) {
        lock(&self.clients).count((client_id.to_owned(), status));
    }

    /// Counts an unlogged fault.
    pub(crate) fn count_fault(&self, route: &'static str, code: &'static str) {
        lock(&self.faults).count((route, code));
    }

    /// Logs the counts since the last summary, if there are any.
    pub(crate) fn summarise(&self) {
        let faults = std::mem::take(&mut *lock(&self.faults));
        for ((route, error), count) in faults.apart {
            tracing::error!(route, error, count, "faults without a line of their own");
        }
        let clients = std::mem::take(&mut *lock(&self.clients));
        for ((client_id, status), count) in clients.apart {
            tracing::info!(client_id, status, count, "requests without a line of their own");
        }
        let strangers = std::mem::take(&mut *lock(&self.strangers));
        for ((peer, what), count) in strangers.apart {
            match what {
                What::Request(status) => {
                    tracing::info!(peer, status, count, "requests without a line of their own");
                }
                What::Connection => tracing::warn!(peer, count, "connections were refused"),
            }
        }
        for (count, of) in [
            (faults.others, "other faults"),
            (clients.others, "requests of other clients"),
            (strangers.others, "requests and connections of other peers"),
        ] {
            if count > 0 {
                tracing::info!(count, "{of}");
            }
        }
    }
}

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self { apart: HashMap::new(), others: 0 }
    }
}

impl<K: Eq + std::hash::Hash> Sums<K> {
    fn count(&mut self, key: K) {
        let known = self.apart.contains_key(&key);
        if !known && self.apart.len() >= MAX_LOGGED_SUMS {
            self.others = self.others.saturating_add(1);
            return;
        }
        let sum = self.apart.entry(key).or_default();
        *sum = sum.saturating_add(1);
    }
}

fn lock<T>(sums: &Mutex<T>) -> MutexGuard<'_, T> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn peer(n: u32) -> Line<'static> {
        Line::Peer(IpAddr::V4(Ipv4Addr::from_bits(n)))
    }

    /// How many of a thousand such lines fit.
    fn fit(noise: &Noise, line: Line<'_>, now: UnixMillis) -> usize {
        (0..1000).filter(|_| noise.admits(line, now)).count()
    }

    #[test]
    fn a_peer_has_thirty_lines_plus_one_a_second_and_all_peers_three_hundred() {
        let noise = Noise::new();
        assert_eq!(fit(&noise, peer(1), NOW), 30);
        assert_eq!(fit(&noise, peer(1), NOW.plus(1000)), 1);
        // 300 immediately, 31 of which are used; one second's worth has been restored.
        let rest: usize = (2..1000).map(|n| fit(&noise, peer(n), NOW.plus(1000))).sum();
        assert_eq!(rest, 299);
    }

    #[test]
    fn strangers_and_clients_do_not_use_up_the_lines_of_others() {
        let noise = Noise::new();
        let strangers: usize = (0..100).map(|n| fit(&noise, peer(n), NOW)).sum();
        assert_eq!(strangers, 300);
        let fault = |route| Line::Fault(route, "internal_error");
        assert_eq!(fit(&noise, Line::Client("cli_a"), NOW), 30);
        assert_eq!(fit(&noise, fault("/v1/sessions"), NOW), 30);
        let names: Vec<String> = (0..100).map(|n| format!("cli_{n}")).collect();
        let clients: usize = names.iter().map(|name| fit(&noise, Line::Client(name), NOW)).sum();
        assert_eq!(clients, 270);
        assert_eq!(fit(&noise, fault("/healthz"), NOW), 30);
        assert_eq!(fit(&noise, Line::Fault("/v1/sessions", "temporarily_unavailable"), NOW), 30);
    }

    #[test]
    fn sums_are_separate_up_to_a_bound() {
        let noise = Noise::new();
        for n in 0..100 {
            for _ in 0..3 {
                noise.count(format!("192.0.{n}.0/24"), What::Request(404));
            }
        }
        noise.count_of_client("cli_a", 429);
        noise.count_fault("/v1/sessions", "internal_error");
        let sums = lock(&noise.strangers);
        assert_eq!((sums.apart.len(), sums.others), (MAX_LOGGED_SUMS, 3 * 68));
        assert!(sums.apart.values().all(|count| *count == 3));
        drop(sums);
        noise.summarise();
        assert!(lock(&noise.strangers).apart.is_empty());
        assert!(lock(&noise.clients).apart.is_empty() && lock(&noise.faults).apart.is_empty());
    }
}
