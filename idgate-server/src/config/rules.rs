//! The forms that single values must have. Each refusal says what to write instead.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

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

pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be an IP address and a port, as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:0".into()
    })
}

/// The base URL without a slash at its end.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text)
        .map_err(|_| "must be an absolute URL, as https://gateway.example".to_owned())?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err("must begin with https:// (or http:// on loopback)".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not carry a user name or password".into());
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("must have no path, query or fragment; write https://gateway.example".into());
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err("must be https: http is for localhost, 127.0.0.1 and [::1] only".into());
    }
    Ok(url.origin().ascii_serialization())
}

/// Whether the host of `base_url` is a name, and not an address.
pub(super) fn has_name(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| matches!(url.host(), Some(Host::Domain(_))))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
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
