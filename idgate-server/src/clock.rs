//! The only place that reads a clock.

#![allow(clippy::disallowed_methods)] // here, and nowhere else

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use idgate_core::time::UnixMillis;

/// Says what time it is.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> UnixMillis;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// A system clock before 1970 reads 1970: everything then counts as not yet valid.
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that moves only when told to; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    /// A clock that stands at `now`.
    pub fn at(now: UnixMillis) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    /// Sets the time.
    pub fn set(&self, now: UnixMillis) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    /// Moves forward by `ms` milliseconds.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }
}

/// Measures elapsed time; steps of the system clock do not disturb it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[allow(clippy::new_without_default)] // starting is an action
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Whole microseconds since the start.
    pub fn elapsed_us(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_is_past_2024() {
        assert!(SystemClock.now() > UnixMillis(1_704_067_200_000));
    }

    #[test]
    fn clones_of_a_virtual_clock_share_the_time() {
        let clock = VirtualClock::at(UnixMillis(5));
        let other = clock.clone();
        clock.advance(10);
        assert_eq!(other.now(), UnixMillis(15));
        other.set(UnixMillis(7));
        assert_eq!(clock.now(), UnixMillis(7));
    }

    #[test]
    fn stopwatch_runs() {
        let watch = Stopwatch::new();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(watch.elapsed_us() >= 2000);
    }
}
