//! The random choices of a test. The test prints its seed, and `IDGATE_SEED` repeats it.

use std::hash::{BuildHasher as _, RandomState};

/// The seed of a test's random choices: the number in `IDGATE_SEED`, else a new one. Prints it, so that a test that
/// fails can be repeated.
///
/// # Panics
///
/// `IDGATE_SEED` is not a number.
#[must_use]
#[allow(clippy::panic, reason = "for tests")]
pub fn seed() -> u64 {
    let seed = match std::env::var("IDGATE_SEED") {
        Ok(given) => given.parse().unwrap_or_else(|_| panic!("IDGATE_SEED={given}: not a number")),
        Err(_) => RandomState::new().hash_one(()),
    };
    // A test that fails shows it.
    eprintln!("IDGATE_SEED={seed}");
    seed
}

/// Numbers that depend only on a seed: splitmix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of one of several threads, so that its numbers do not depend on the others.
    #[must_use]
    pub fn of_thread(seed: u64, thread: usize) -> Self {
        let mut threads = Self(seed ^ (thread as u64).wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(threads.next_number())
    }

    /// Any number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_number() % end.max(1)
    }

    /// An index below `length`; 0 where there is none.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True once in this many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_gives_the_same_numbers_each_time_and_a_thread_its_own() {
        // The first numbers of the reference implementation for the seed 0 (Vigna, splitmix64.c).
        let mut random = Random::new(0);
        assert_eq!(random.next_number(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_number(), 0x6e78_9e6a_a1b9_65f4);
        let first = |thread| Random::of_thread(7, thread).next_number();
        assert_eq!(first(1), first(1));
        assert!(first(0) != first(1) && first(1) != first(2));
    }

    #[test]
    fn a_number_is_below_its_end() {
        let mut random = Random::new(1);
        for end in 1..100 {
            assert!(random.below(end) < end);
        }
        assert_eq!((random.below(0), random.index(0)), (0, 0));
        assert!(random.one_in(1));
    }
}
