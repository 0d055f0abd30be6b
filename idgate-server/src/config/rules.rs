//! The forms that single values must have. Each refusal says what to write instead.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use idgate_core::Verifier;
use idgate_core::error::ConfigError;

/// A range of addresses, as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u32,
}

impl Cidr {
    /// From `address/prefix`, or one address alone.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let wrong =
            || format!("`{text}` is not an address range; write it as 10.0.0.0/8 or fd00::/8");
        let network: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
            None => longest,
        };
        if prefix > longest {
            return Err(wrong());
        }
        let range = Self { network, prefix };
        if range.bits(network) != bits_of(network) {
            return Err(format!("`{text}` has bits set after its prefix; clear them"));
        }
        Ok(range)
    }

    /// Whether `address` lies in it. An IPv4 address written as IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.network.is_ipv4() && self.bits(address) == bits_of(self.network)
    }

    /// The bits of `address` that the prefix covers.
    fn bits(&self, address: IpAddr) -> u128 {
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let host_bits = width.saturating_sub(self.prefix);
        let bits = bits_of(address);
        bits.checked_shr(host_bits).and_then(|high| high.checked_shl(host_bits)).unwrap_or(0)
    }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

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
pub(super) fn drain_delay(text: &str) -> Result<Duration, String> {
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
    fn a_range_contains_its_addresses_and_no_others() {
        for (range, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
        ] {
            let range = Cidr::parse(range).unwrap();
            assert!(range.contains(inside.parse().unwrap()), "{range:?} {inside}");
            assert!(!range.contains(outside.parse().unwrap()), "{range:?} {outside}");
        }
    }

    #[test]
    fn numbers_are_digits_within_their_bounds() {
        assert_eq!(drain_delay("0"), Ok(Duration::ZERO));
        assert_eq!(drain_delay("300"), Ok(Duration::from_secs(300)));
        assert_eq!(body_memory("256"), Ok(256 * 1024 * 1024));
        for bad in ["", "-1", "+5", "5s", "1.5", "301", "99999999999999999999"] {
            assert!(drain_delay(bad).is_err(), "{bad}");
        }
        for bad in ["", "0", "15", "65537", "256M", "0x100"] {
            assert!(body_memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0/8",
            "10.0.0.1/8",
            "::/129",
            "x/8",
            "10.0.0.0/",
        ] {
            assert!(Cidr::parse(bad).is_err(), "{bad}");
        }
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
