//! What strangers can cause without end leaves a line each only so often, per peer and for all of
//! them; the rest is counted and summed up now and then. So nobody fills a log volume from outside.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idgate_core::time::UnixMillis;

use crate::rate_limit::{Policy, RateLimiter};

/// Lines of one peer: what it takes to see what it is about.
const PER_PEER: Policy = Policy { name: "log-peer", burst: 30, window_secs: 30 };
/// Lines of all strangers: 35 kB a second.
const OVERALL: Policy = Policy { name: "log", burst: 300, window_secs: 3 };
/// Peers that are told apart: past twice as many the first are forgotten.
const PEERS: usize = 16 * 1024;
/// Sums that are told apart between two summaries.
const MAX_SUMS: usize = 32;

/// What left no line.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum What {
    /// A request, answered by this status.
    Request(u16),
    /// A connection that found no place.
    Connection,
}

/// Decides which lines of strangers are written, and counts the others.
pub(crate) struct Noise {
    limiter: RateLimiter,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    /// By the network of the peer, as logs show it.
    apart: HashMap<(String, What), u64>,
    others: u64,
}

impl Noise {
    pub(crate) fn new() -> Self {
        Self { limiter: RateLimiter::remembering(PEERS), sums: Mutex::default() }
    }

    /// Whether one more line about the peer that counts as `key` fits.
    pub(crate) fn admits(&self, key: IpAddr, now: UnixMillis) -> bool {
        // Who is beyond its own share must not use up that of all.
        self.limiter.charge(&[(PER_PEER, Some(key)), (OVERALL, None)], now).is_ok()
    }

    /// Counts what left no line. `network` is what logs show of the peer.
    pub(crate) fn count(&self, network: String, what: What) {
        let mut sums = self.sums();
        let known = sums.apart.contains_key(&(network.clone(), what));
        if !known && sums.apart.len() >= MAX_SUMS {
            sums.others = sums.others.saturating_add(1);
            return;
        }
        let sum = sums.apart.entry((network, what)).or_default();
        *sum = sum.saturating_add(1);
    }

    /// Writes what was counted since the last time, if anything was.
    pub(crate) fn summarise(&self) {
        let Sums { apart, others } = std::mem::take(&mut *self.sums());
        for ((peer, what), count) in apart {
            match what {
                What::Request(status) => {
                    tracing::info!(peer, status, count, "requests without a line of their own");
                }
                What::Connection => tracing::warn!(peer, count, "connections were refused"),
            }
        }
        if others > 0 {
            tracing::info!(count = others, "requests and connections of other peers");
        }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn peer(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(n))
    }

    #[test]
    fn a_peer_has_thirty_lines_and_one_more_a_second_and_all_have_three_hundred() {
        let noise = Noise::new();
        let lines = |n, now| (0..100).filter(|_| noise.admits(peer(n), now)).count();
        assert_eq!(lines(1, NOW), 30);
        assert_eq!(lines(1, NOW.plus(1000)), 1);
        // 300 at once, 31 of which are gone; those of the second that went by have grown back.
        let rest: usize = (2..1000).map(|n| lines(n, NOW.plus(1000))).sum();
        assert_eq!(rest, 299);
    }

    #[test]
    fn sums_are_told_apart_up_to_a_bound() {
        let noise = Noise::new();
        for n in 0..100 {
            for _ in 0..3 {
                noise.count(format!("192.0.{n}.0/24"), What::Request(404));
            }
        }
        let sums = noise.sums();
        assert_eq!((sums.apart.len(), sums.others), (MAX_SUMS, 3 * 68));
        assert!(sums.apart.values().all(|count| *count == 3));
        drop(sums);
        noise.summarise();
        assert!(noise.sums().apart.is_empty());
    }
}
