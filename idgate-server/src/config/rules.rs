//! The rules for single values. Each refusal says what to write instead.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use idgate::Cidr;
use idgate_core::Verifier;
use idgate_core::error::ConfigError;
use url::Url;

use crate::limits::{MAX_PAGE_LINK, MAX_SHOWN_CHARS};

/// Address ranges separated by commas; may be empty.
pub(super) fn cidrs(text: &str) -> Result<Vec<Cidr>, String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Cidr::parse).collect()
}

/// Accepts a name of one of `choices`.
pub(super) fn one_of<T: Copy, const N: usize>(
    choices: [(&str, T); N],
) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let found = choices.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = choices.map(|(name, _)| name).join(", ");
            let (others, last) = names.rsplit_once(", ").unwrap_or(("", &names));
            format!("must be {others} or {last}")
        })
    }
}

pub(super) fn yes_no(text: &str) -> Result<bool, String> {
    one_of([("true", true), ("false", false)])(text)
}

pub(super) fn on_off(text: &str) -> Result<bool, String> {
    one_of([("on", true), ("off", false)])(text)
}

/// A whole number within `bounds`, in digits; `what` is its name in the refusal.
pub(super) fn whole(text: &str, what: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && bounds.contains(number));
    number.ok_or_else(|| format!("must be {what} from {} to {}", bounds.start(), bounds.end()))
}

/// Whole seconds, five minutes at most.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    whole(text, "whole seconds", 0..=300).map(Duration::from_secs)
}

/// Whole hours, a day at most.
pub(super) fn hours(text: &str) -> Result<u64, String> {
    whole(text, "whole hours", 1..=24)
}

/// MiB, as bytes.
pub(super) fn body_memory(text: &str) -> Result<usize, String> {
    let mib = whole(text, "a whole number of MiB", 16..=65_536)?;
    Ok(usize::try_from(mib).unwrap_or(usize::MAX).saturating_mul(1024 * 1024))
}

/// A maximum number of objects.
pub(super) fn count(text: &str) -> Result<u64, String> {
    whole(text, "a whole number", 1..=1_000_000_000)
}

/// A number of days; 0 has a meaning of its own.
pub(super) fn days(text: &str) -> Result<u64, String> {
    let days = whole(text, "a whole number of days", 0..=36_500);
    days.map_err(|_| "must be a whole number of days, 0 to 36500".into())
}

pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be an IP address and a port, for example 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:0"
            .into()
    })
}

/// A name that people see.
pub(super) fn shown_name(text: &str) -> Result<String, String> {
    check_name(text, MAX_SHOWN_CHARS)?;
    Ok(text.trim().to_owned())
}

/// Refuses names that a list or a page could not show.
pub(crate) fn check_name(name: &str, longest: usize) -> Result<(), String> {
    let is_plain = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if is_plain && name.chars().count() <= longest {
        return Ok(());
    }
    Err(format!("must have 1 to {longest} characters and no control characters"))
}

/// A link on a page.
pub(crate) fn page_link(text: &str) -> Result<String, String> {
    let wrong = || "must be an https URL such as https://shop.example/privacy".to_owned();
    let url = Url::parse(text).map_err(|_| wrong())?;
    let names_nobody = url.username().is_empty() && url.password().is_none();
    let is_link = url.scheme() == "https" && url.has_host() && names_nobody;
    if is_link && url.as_str().len() <= MAX_PAGE_LINK { Ok(url.into()) } else { Err(wrong()) }
}

/// The base URL, by the rule of the core; a slash at the end is allowed.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    Verifier::origin(text.strip_suffix('/').unwrap_or(text)).map_err(|error| match error {
        ConfigError::BaseUrl(why) => why.to_owned(),
        other => other.to_string(),
    })
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
