//! A clock that moves only when a test moves it.

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

/// Whole seconds, the form in JWTs (RFC 7519 2, NumericDate).
pub const fn numeric_date(ms: u64) -> u64 {
    ms / 1000
}

/// `YYYYMMDDhhmmssZ` in UTC: the content of a GeneralizedTime (RFC 5280 4.1.2.5.2).
pub fn compact_utc(ms: u64) -> String {
    let (days, seconds) = (ms / DAY_MS, ms / 1000 % 86_400);
    // Civil date from days, counted in years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z")
}

/// A clock that moves only on request. Clones show the same time.
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
