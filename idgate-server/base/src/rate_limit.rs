//! Rate limits by the generic cell rate algorithm. It needs only one number for each limited party,
//! bursts are exact to one request, and there is no window at whose edge two bursts can meet.
//!
//! Memory is bounded however many parties come. They are remembered in two generations: a party is
//! forgotten when it was not seen while a whole generation of others came. Parties are
//! distinguished by 64 bits of a hash, keyed with a secret of this process.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::limits::LIMITED_PARTIES;
use idgate_core::UnixMillis;

/// Allows `burst` requests at the same time, and as many again in each `window_secs`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Policy {
    /// Its name in headers. Policies with different names are independent.
    pub name: &'static str,
    /// The number of requests that may come at the same time.
    pub burst: u64,
    /// The time in which a whole burst is restored; `burst` divides it in microseconds.
    pub window_secs: u64,
    /// Usage before this time is unknown here, and counts as a full burst.
    pub known_since: UnixMillis,
}

/// A request beyond the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Excess {
    /// The exceeded limit.
    pub policy: Policy,
    /// One request is allowed again after this many milliseconds, and not before.
    pub wait_ms: u64,
}

/// A party's remaining allowance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standing {
    /// The limit.
    pub policy: Policy,
    /// The number of requests that would pass now.
    pub left: u64,
    /// Milliseconds until the whole burst is available.
    pub full_in_ms: u64,
}

/// The usage of limited parties.
pub struct RateLimiter {
    hasher: RandomState,
    used: Mutex<Used>,
    generation: usize,
}

/// When each party will have its whole burst again, in microseconds.
#[derive(Default)]
struct Used {
    young: HashMap<u64, u64>,
    old: HashMap<u64, u64>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::remembering(LIMITED_PARTIES)
    }
}

impl RateLimiter {
    /// Remembers this many parties in a generation.
    pub fn remembering(generation: usize) -> Self {
        Self { hasher: RandomState::new(), used: Mutex::default(), generation }
    }

    /// Charges one request at `now` to each party under its policy. If one limit is exceeded,
    /// charges none of them.
    pub fn charge<P: Hash>(&self, charges: &[(Policy, P)], now: UnixMillis) -> Result<(), Excess> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Vec::with_capacity(charges.len());
        for (policy, party) in charges {
            let party = self.hasher.hash_one((policy.name, party));
            next.push((party, policy.next(used.get(party), now.0.saturating_mul(1000))?));
        }
        for (party, full_at) in next {
            used.put(party, full_at, self.generation);
        }
        Ok(())
    }

    /// The remaining allowance of a party at `now`.
    pub fn standing<P: Hash>(&self, policy: Policy, party: P, now: UnixMillis) -> Standing {
        let party = self.hasher.hash_one((policy.name, party));
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.0.saturating_mul(1000);
        let full_in = policy.full_at(used.get(party), now).saturating_sub(now);
        let window = policy.window_secs.saturating_mul(1_000_000);
        let each = window.checked_div(policy.burst).unwrap_or(window);
        let left = window.saturating_sub(full_in).checked_div(each).unwrap_or(0);
        Standing { policy, left: left.min(policy.burst), full_in_ms: full_in.div_ceil(1000) }
    }
}

impl Policy {
    /// A policy that knows all past usage.
    pub const fn new(name: &'static str, burst: u64, window_secs: u64) -> Self {
        Self { name, burst, window_secs, known_since: UnixMillis(0) }
    }

    /// The policy for this many parties together.
    pub fn times(self, parties: u64) -> Self {
        Self { burst: self.burst.saturating_mul(parties), ..self }
    }

    /// One gateway's part of a policy that `nodes` gateways share. Usage at the other gateways
    /// before `joined` is unknown to this one.
    pub fn among(self, nodes: u64, joined: UnixMillis) -> Self {
        let Self { name, burst, window_secs, .. } = self;
        let known_since = joined;
        match burst.checked_div(nodes.max(1)).unwrap_or(burst) {
            // One request must pass, so the gateways take correspondingly long for it.
            0 => {
                let window = window_secs.saturating_mul(nodes);
                let window_secs = window.div_ceil(burst.max(1));
                Self { name, burst: 1, window_secs, known_since }
            }
            burst => Self { name, burst, window_secs, known_since },
        }
    }

    /// When a party that has used the limit until `full_at` is full again, as seen at `now`; in
    /// microseconds.
    fn full_at(self, full_at: Option<u64>, now: u64) -> u64 {
        let window = self.window_secs.saturating_mul(1_000_000);
        let known = self.known_since.0.saturating_mul(1000).saturating_add(window);
        // Later than possible means that the clock was set back, which voids the old count.
        let latest = now.saturating_add(window);
        full_at.or(Some(known)).filter(|at| *at <= latest).unwrap_or(0).max(now)
    }

    /// When a party is full again after one more request at `now`; both in microseconds.
    fn next(self, full_at: Option<u64>, now: u64) -> Result<u64, Excess> {
        let window = self.window_secs.saturating_mul(1_000_000);
        let latest = now.saturating_add(window);
        let next = self
            .full_at(full_at, now)
            .saturating_add(window.checked_div(self.burst).unwrap_or(window));
        match next.saturating_sub(latest) {
            0 => Ok(next),
            wait_us => Err(Excess { policy: self, wait_ms: wait_us.div_ceil(1000) }),
        }
    }
}

impl Used {
    fn get(&self, party: u64) -> Option<u64> {
        self.young.get(&party).or_else(|| self.old.get(&party)).copied()
    }

    fn put(&mut self, party: u64, full_at: u64, generation: usize) {
        if self.young.len() >= generation && !self.young.contains_key(&party) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(party, full_at);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
    const CREATE: Policy = policy("create", 100, 4);
    const ANSWER: Policy = policy("answer", 6, 60);

    const fn policy(name: &'static str, burst: u64, window_secs: u64) -> Policy {
        Policy::new(name, burst, window_secs)
    }

    fn one(limiter: &RateLimiter, policy: Policy, party: u32, now: UnixMillis) -> bool {
        limiter.charge(&[(policy, party)], now).is_ok()
    }

    /// The number of requests that pass at `now`.
    fn burst(limiter: &RateLimiter, policy: Policy, party: u32, now: UnixMillis) -> usize {
        (0..1000).take_while(|_| one(limiter, policy, party, now)).count()
    }

    #[test]
    fn a_burst_is_exact_and_grows_back_one_by_one() {
        let limiter = RateLimiter::default();
        assert_eq!(burst(&limiter, CREATE, 1, NOW), 100);
        assert_eq!(burst(&limiter, CREATE, 1, NOW.plus(39)), 0);
        assert_eq!(burst(&limiter, CREATE, 1, NOW.plus(40)), 1);
        assert_eq!(burst(&limiter, CREATE, 1, NOW.plus(440)), 10);
        assert_eq!(burst(&limiter, CREATE, 1, NOW.plus(60_000)), 100);
    }

    #[test]
    fn the_sustained_rate_is_that_of_the_policy() {
        let limiter = RateLimiter::default();
        let passed = (0..10_000).filter(|ms| one(&limiter, CREATE, 1, NOW.plus(*ms))).count();
        // 100 immediately, and 25 per second for the rest of ten seconds.
        assert_eq!(passed, 100 + 249);
    }

    #[test]
    fn the_wait_is_exact() {
        let limiter = RateLimiter::default();
        assert_eq!(burst(&limiter, ANSWER, 1, NOW.plus(3)), 6);
        let excess = limiter.charge(&[(ANSWER, 1)], NOW.plus(5)).unwrap_err();
        assert_eq!(excess, Excess { policy: ANSWER, wait_ms: 9_998 });
        assert!(!one(&limiter, ANSWER, 1, NOW.plus(5 + 9_997)));
        assert!(one(&limiter, ANSWER, 1, NOW.plus(5 + 9_998)));
    }

    #[test]
    fn parties_together_have_exactly_the_multiple_of_the_burst() {
        let limiter = RateLimiter::default();
        let peer = policy("peer", 100, 5);
        assert_eq!(burst(&limiter, peer.times(4), 1, NOW), 400);
        let sixteen = peer.times(16);
        let passed = (0..10_000).filter(|_| one(&limiter, sixteen, 2, NOW)).count();
        assert_eq!(passed, 1600);
        // 320 more in a second.
        let passed = (0..1000).filter(|_| one(&limiter, sixteen, 2, NOW.plus(1000))).count();
        assert_eq!(passed, 320);
    }

    #[test]
    fn the_remaining_allowance_is_what_would_pass() {
        let limiter = RateLimiter::default();
        let left = |now| limiter.standing(CREATE, 1, now);
        assert_eq!(left(NOW), Standing { policy: CREATE, left: 100, full_in_ms: 0 });
        assert!(one(&limiter, CREATE, 1, NOW));
        assert_eq!((left(NOW).left, left(NOW).full_in_ms), (99, 40));
        assert_eq!(left(NOW.plus(40)).left, 100);
        assert_eq!(burst(&limiter, CREATE, 1, NOW), 99);
        assert_eq!((left(NOW).left, left(NOW).full_in_ms), (0, 4000));
        assert_eq!(left(NOW.plus(39)).left, 0);
        assert_eq!(left(NOW.plus(440)).left, burst(&limiter, CREATE, 1, NOW.plus(440)) as u64);
    }

    #[test]
    fn parties_and_policies_are_independent() {
        let limiter = RateLimiter::default();
        assert_eq!(burst(&limiter, ANSWER, 1, NOW), 6);
        assert_eq!(burst(&limiter, ANSWER, 2, NOW), 6);
        assert_eq!(burst(&limiter, CREATE, 1, NOW), 100);
    }

    #[test]
    fn a_request_refused_by_one_limit_is_not_charged_to_another() {
        let limiter = RateLimiter::default();
        assert_eq!(burst(&limiter, ANSWER, 1, NOW), 6);
        for _ in 0..50 {
            let excess = limiter.charge(&[(CREATE, 9), (ANSWER, 1)], NOW).unwrap_err();
            assert_eq!(excess.policy, ANSWER);
        }
        assert_eq!(burst(&limiter, CREATE, 9, NOW), 100);
    }

    #[test]
    fn a_clock_that_is_set_back_blocks_no_party() {
        let limiter = RateLimiter::default();
        assert_eq!(burst(&limiter, ANSWER, 1, NOW), 6);
        assert_eq!(burst(&limiter, ANSWER, 1, NOW.minus(3_600_000)), 6);
    }

    #[test]
    fn a_million_parties_are_distinguished() {
        let limiter = RateLimiter::default();
        for party in 0..1_000_000 {
            assert!(one(&limiter, ANSWER, party, NOW));
        }
        // All of them, first and last, still have exactly the rest of their burst.
        for party in [0, 1, 499_999, 917_504, 999_999] {
            assert_eq!(burst(&limiter, ANSWER, party, NOW), 5, "{party}");
        }
    }

    #[test]
    fn no_more_than_two_generations_are_remembered() {
        let limiter = RateLimiter::remembering(100);
        for party in 0..10_000 {
            assert!(one(&limiter, ANSWER, party, NOW));
        }
        let used = limiter.used.lock().unwrap();
        assert!(used.young.len() <= 100 && used.old.len() <= 100);
        drop(used);
        assert_eq!(burst(&limiter, ANSWER, 9_950, NOW), 5);
        assert_eq!(burst(&limiter, ANSWER, 0, NOW), 6, "forgotten");
    }

    #[test]
    fn gateways_that_share_a_limit_do_not_exceed_it_together() {
        for nodes in 1..=150 {
            let all = policy("shared", 100, 5);
            let part = all.among(nodes, UnixMillis(0));
            assert!(part.burst >= 1, "{nodes}");
            // Per second, for all gateways together: part.burst * nodes / part.window_secs.
            assert!(part.burst * nodes * 5 <= 100 * part.window_secs, "{nodes}: {part:?}");
            assert!(nodes > 100 || part.burst * nodes <= 100, "{nodes}");
        }
        let alone = policy("alone", 7, 60);
        let among = |nodes| alone.among(nodes, UnixMillis(0));
        assert_eq!((among(1), among(0)), (alone, alone));
    }

    /// It gets its whole share of the refill, and nothing of a burst that may have been used
    /// elsewhere.
    #[test]
    fn a_gateway_that_joins_others_starts_empty_and_refills_like_them() {
        let limiter = RateLimiter::default();
        let part = CREATE.among(4, NOW);
        assert_eq!(limiter.standing(part, 1, NOW).left, 0);
        assert_eq!(burst(&limiter, part, 1, NOW.plus(1500)), 9);
        assert_eq!(burst(&limiter, part, 2, NOW.plus(4000)), 25);
        assert_eq!(burst(&limiter, part, 3, NOW.plus(3_600_000)), 25);
        // A clock that is set back blocks no party.
        assert_eq!(burst(&limiter, part, 4, NOW.minus(3_600_000)), 25);
    }

    /// However quickly they join, at most twice the limit is granted at any moment.
    #[test]
    fn gateways_that_join_one_after_another_grant_at_most_twice_the_limit() {
        for apart_ms in [0, 1, 10, 100, 1000, 3000] {
            let nodes: Vec<RateLimiter> = (0..8).map(|_| RateLimiter::default()).collect();
            let mut granted = 0;
            for ms in 0..8_000_u64 {
                let at = NOW.plus(ms);
                let known = 1 + ms.checked_div(apart_ms).unwrap_or(u64::MAX).min(7);
                for (n, node) in (0..known).zip(&nodes) {
                    let joined = if n == 0 { UnixMillis(0) } else { NOW.plus(n * apart_ms) };
                    granted +=
                        u64::try_from(burst(node, CREATE.among(known, joined), 1, at)).unwrap();
                }
                assert!(
                    granted <= 2 * (100 + ms / 40),
                    "{apart_ms} ms apart: {granted} in {ms} ms"
                );
            }
        }
    }
}
