//! Time as a value: milliseconds since 1970-01-01 UTC, and the RFC 3339 text.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A time in milliseconds since the Unix epoch. The core takes it as an argument and never reads a
/// clock.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[allow(clippy::exhaustive_structs)] // a plain number, and always will be
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// Creates the time from whole seconds; saturates.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Returns whole seconds since the epoch, as in a NumericDate (RFC 7519 2).
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// Returns this time plus `ms` milliseconds; saturates.
    #[must_use]
    pub const fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Returns this time minus `ms` milliseconds; saturates at the epoch.
    #[must_use]
    pub const fn minus(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Returns the milliseconds from `earlier` to this time, or 0 if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Parses `YYYY-MM-DDThh:mm:ss[.fff…](Z|±hh:mm)` (RFC 3339 5.6); fractions are truncated to
    /// milliseconds. Leap seconds and years before 1970 are refused.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let b = text.as_bytes();
        let two = |at: usize| -> Option<u64> {
            let d = b.get(at..at + 2)?;
            d.iter().try_fold(0u64, |n, c| c.is_ascii_digit().then(|| n * 10 + u64::from(c - b'0')))
        };
        let is = |at: usize, c: &[u8]| b.get(at).is_some_and(|x| c.contains(x));
        let year = two(0)? * 100 + two(2)?;
        let (month, day) = (two(5)?, two(8)?);
        let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
        let shape = is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":");
        if !shape || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_from_civil(year, month, day)?;
        let mut at = 19;
        let mut ms = 0;
        if is(at, b".") {
            let digits = b.get(at + 1..)?.iter().take_while(|c| c.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            for i in 0..3 {
                let c = if i < digits { *b.get(at + 1 + i)? } else { b'0' };
                ms = ms * 10 + u64::from(c - b'0');
            }
            at += 1 + digits;
        }
        let local = days * 86_400 + hour * 3600 + minute * 60 + second;
        let utc = if is(at, b"Zz") {
            at += 1;
            local
        } else {
            let (oh, om) = (two(at + 1)?, two(at + 4)?);
            if !is(at, b"+-") || !is(at + 3, b":") || oh > 23 || om > 59 {
                return None;
            }
            let offset = oh * 3600 + om * 60;
            let plus = is(at, b"+");
            at += 6;
            if plus { local.checked_sub(offset)? } else { local + offset }
        };
        (at == b.len()).then_some(Self(utc * 1000 + ms))
    }
}

/// The last time that RFC 3339 can express. Issuers use later values to mean "never".
const LAST: u64 = 253_402_300_799_999;

/// Formats as RFC 3339 in UTC with milliseconds and `Z`, the only form that leaves this library.
/// Times after the year 9999 print as its last millisecond.
impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.min(LAST);
        let (secs, ms) = (shown / 1000, shown % 1000);
        let (year, month, day) = civil_from_days(secs / 86_400);
        let s = secs % 86_400;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{ms:03}Z",
            s / 3600,
            s / 60 % 60,
            s % 60
        )
    }
}

/// Returns days since 1970-01-01 for a proleptic Gregorian date; `None` if the date does not exist.
pub(crate) fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    const LENGTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let month_index = usize::try_from(month.checked_sub(1)?).ok()?;
    let length = LENGTHS.get(month_index)? + u64::from(month == 2 && leap(year));
    if !(1970..=9999).contains(&year) || day == 0 || day > length {
        return None;
    }
    let leaps = |y: u64| y / 4 - y / 100 + y / 400;
    let before_month: u64 = LENGTHS.iter().take(month_index).sum();
    let leap_day = u64::from(month > 2 && leap(year));
    Some((year - 1970) * 365 + leaps(year - 1) - leaps(1969) + before_month + leap_day + day - 1)
}

/// Howard Hinnant's civil-from-days, for days since 1970-01-01.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + u64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_rfc3339_with_milliseconds() {
        assert_eq!(UnixMillis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(UnixMillis(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(UnixMillis(1_709_210_096_007).to_string(), "2024-02-29T12:34:56.007Z");
    }

    #[test]
    fn parses_what_it_prints_on_every_day_for_four_centuries() {
        for day in 0..146_097 {
            let t = UnixMillis::from_secs(day * 86_400 + 3_661).plus(5);
            assert_eq!(UnixMillis::parse_rfc3339(&t.to_string()), Some(t));
        }
    }

    #[test]
    fn parses_offsets_and_fractions() {
        let t = UnixMillis::parse_rfc3339("2024-02-29T12:34:56.0079Z").unwrap();
        assert_eq!(UnixMillis::parse_rfc3339("2024-02-29T14:04:56.0079+01:30"), Some(t));
        assert_eq!(UnixMillis::parse_rfc3339("2024-02-29T11:04:56.007-01:30"), Some(t));
    }

    #[test]
    fn refuses_dates_that_do_not_exist() {
        for bad in [
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-32T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00Zx",
            "2024-01-01 00:00:00Z",
            "1969-12-31T23:59:59Z",
            "",
        ] {
            assert_eq!(UnixMillis::parse_rfc3339(bad), None, "{bad}");
        }
    }
}
