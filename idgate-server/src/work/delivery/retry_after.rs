//! `Retry-After` (RFC 9110 10.2.3): seconds, or a date.

use std::time::UNIX_EPOCH;

use idgate_core::UnixMillis;

/// How long the receiver asks to wait after `now`; `None` if the value cannot be read.
pub(super) fn millis(value: &str, now: UnixMillis) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits that do not fit mean the longest possible time.
        return Some(value.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    let at = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let at = UnixMillis(u64::try_from(at.as_millis()).ok()?);
    Some(at.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT
    const NOW: UnixMillis = UnixMillis(784_111_777_000);

    #[test]
    fn seconds_and_dates_are_read() {
        for (value, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120_000)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60_000)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60_000)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994", None),
        ] {
            assert_eq!(millis(value, NOW), expected, "{value}");
        }
    }
}
