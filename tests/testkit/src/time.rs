//! Time that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 2026-11-21T12:00:00Z in milliseconds: the instant at which sample runs begin.
pub const SAMPLE_NOW_MS: u64 = 1_795_262_400_000;
/// One minute in milliseconds: the clock skew that verifiers tolerate.
pub const MINUTE_MS: u64 = 60_000;
/// One day in milliseconds.
pub const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
/// A year of 365 days in milliseconds.
pub const YEAR_MS: u64 = 365 * DAY_MS;

/// Whole seconds, as JWTs have them (RFC 7519 2, NumericDate).
pub const fn numeric_date(ms: u64) -> u64 {
    ms / 1000
}

/// A clock that only moves when told to. Clones show the same time.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now_ms: Arc<AtomicU64>,
}

impl VirtualClock {
    /// A clock that shows `now_ms`.
    pub fn at(now_ms: u64) -> Self {
        Self { now_ms: Arc::new(AtomicU64::new(now_ms)) }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    /// Moves the clock forward.
    pub fn advance(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::at(SAMPLE_NOW_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_the_same_time() {
        let clock = VirtualClock::default();
        let other = clock.clone();
        clock.advance(MINUTE_MS);
        assert_eq!(other.now_ms(), SAMPLE_NOW_MS + MINUTE_MS);
    }
}
