//! The forms that single values must have. Each refusal says what to write instead.

use std::net::SocketAddr;
use std::time::Duration;

use idgate_core::Verifier;
use idgate_core::error::ConfigError;
use idgate_fetch::Cidr;

/// Address ranges separated by commas; none is fine.
pub(super) fn cidrs(text: &str) -> Result<Vec<Cidr>, String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Cidr::parse).collect()
}

pub(super) fn yes_no(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

pub(super) fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".into()),
    }
}

/// Whole seconds, five minutes at most.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = number(text).filter(|seconds| *seconds <= 300);
    let seconds = seconds.ok_or("must be whole seconds from 0 to 300")?;
    Ok(Duration::from_secs(seconds))
}

/// Whole hours, a day at most.
pub(super) fn hours(text: &str) -> Result<u64, String> {
    let hours = number(text).filter(|hours| (1..=24).contains(hours));
    hours.ok_or_else(|| "must be whole hours from 1 to 24".into())
}

/// MiB, as bytes.
pub(super) fn body_memory(text: &str) -> Result<usize, String> {
    let mib = number(text).filter(|mib| (16..=65_536).contains(mib));
    let bytes = mib.and_then(|mib| usize::try_from(mib).ok()?.checked_mul(1024 * 1024));
    bytes.ok_or_else(|| "must be a whole number of MiB from 16 to 65536".into())
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be an IP address and a port, as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:0".into()
    })
}

/// The base URL as the core takes it, whose rule it is; a slash at the end does no harm.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    Verifier::origin(text.strip_suffix('/').unwrap_or(text)).map_err(|error| match error {
        ConfigError::BaseUrl(why) => why.to_owned(),
        other => other.to_string(),
    })
}

/// How many there may be of something.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let count = whole(text).filter(|count| (1..=1_000_000_000).contains(count));
    count.ok_or_else(|| "must be a whole number from 1 to 1000000000".into())
}

/// A number of days; 0 has a meaning of its own.
pub(super) fn days(text: &str) -> Result<u64, String> {
    let days = whole(text).filter(|days| *days <= 36_500);
    days.ok_or_else(|| "must be a whole number of days, 0 to 36500".into())
}

fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_within_their_bounds() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("300"), Ok(Duration::from_secs(300)));
        assert_eq!(body_memory("256"), Ok(256 * 1024 * 1024));
        for bad in ["", "-1", "+5", "5s", "1.5", "301", "99999999999999999999"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        for bad in ["", "0", "15", "65537", "256M", "0x100"] {
            assert!(body_memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_are_separated_by_commas() {
        assert!(cidrs("10.0.0.0/8, fd00::/8,").unwrap().len() == 2);
        assert!(cidrs("10.0.0.0/8;fd00::/8").is_err());
    }

    #[test]
    fn base_urls_are_bare_origins() {
        for (text, expected) in [
            ("https://gateway.example", "https://gateway.example"),
            ("https://Gateway.example/", "https://gateway.example"),
            ("https://gateway.example:8443", "https://gateway.example:8443"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(base_url(text).unwrap(), expected);
        }
        for bad in [
            "gateway.example",
            "ftp://gateway.example",
            "http://gateway.example",
            "http://gateway.localhost:8080",
            "http://10.0.0.1",
            "http://127.0.0.1.example",
            "https://gateway.example/path",
            "https://gateway.example/?q",
            "https://gateway.example/#f",
            "https://user@gateway.example",
            "",
        ] {
            assert!(base_url(bad).is_err(), "{bad}");
        }
    }
}
