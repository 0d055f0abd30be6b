//! The client's address: that of the connection, or the one that a trusted proxy reports.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;

use crate::config::Cidr;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address. `X-Forwarded-For` is read from the right and trusted only as far as
/// trusted proxies wrote it; everything further left may be forged by the client.
pub(crate) fn client(connection: IpAddr, headers: &HeaderMap, trusted: &[Cidr]) -> IpAddr {
    let mut client = connection;
    let values = headers.get_all(FORWARDED_FOR).iter().rev();
    // In bytes: what a client wrote further left need not be text, and a proxy appends to it.
    let mut hops = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
    while is_trusted(client, trusted) {
        let Some(hop) = hops.next().and_then(parse_hop) else { break };
        client = hop;
    }
    client
}

/// Whether `address` is a trusted proxy.
pub(crate) fn is_trusted(address: IpAddr, trusted: &[Cidr]) -> bool {
    trusted.iter().any(|range| range.contains(address))
}

/// The address that limits use: IPv6 peers by their /64, because one peer owns all of it.
pub(crate) fn limit_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (!0 << 64))),
        address => address,
    }
}

/// A network that limits count as one party.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The networks that a peer counts in, each with its multiple of one peer's limit. The owner of a
/// /48 or /56 has thousands of /64, and still counts as one party.
pub(crate) fn networks(address: IpAddr) -> impl Iterator<Item = (Network, usize)> {
    let nested: &[(u8, usize)] = match address.to_canonical() {
        IpAddr::V4(_) => &[(32, 1)],
        IpAddr::V6(_) => &[(64, 1), (56, 4), (48, 16)],
    };
    nested.iter().map(move |(prefix, times)| {
        let address = match address.to_canonical() {
            IpAddr::V6(whole) => {
                let host_bits = 128_u32.saturating_sub(u32::from(*prefix));
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(whole.to_bits() & mask))
            }
            v4 => v4,
        };
        (Network { address, prefix: *prefix }, *times)
    })
}

/// Prints a peer's network for logs, never its host.
pub(crate) struct Truncated(pub(crate) IpAddr);

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                write!(f, "{a}.{b}.{c}.0/24")
            }
            IpAddr::V6(address) => {
                write!(f, "{}/48", Ipv6Addr::from_bits(address.to_bits() & (!0 << 80)))
            }
        }
    }
}

/// An address with or without a port; IPv6 also in brackets.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']'));
    let bracketed = || bare?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    let address = hop.parse().ok().or_else(bracketed);
    let with_port = || hop.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    address.or_else(with_port).map(|address| address.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn seen(connection: &str, forwarded: &[&'static str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
        }
        let trusted: Vec<Cidr> = trusted.iter().map(|text| Cidr::parse(text).unwrap()).collect();
        client(connection.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn the_header_of_an_untrusted_peer_is_ignored() {
        assert_eq!(seen("192.0.2.1", &["198.51.100.7"], &[]), "192.0.2.1");
        assert_eq!(seen("192.0.2.1", &["198.51.100.7"], &["10.0.0.0/8"]), "192.0.2.1");
    }

    #[test]
    fn the_first_untrusted_hop_from_the_right_is_the_client() {
        let trusted = &["10.0.0.0/8"];
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 198.51.100.7,10.2.3.4"], trusted), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1", "198.51.100.7:81"], trusted), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["[2001:db8::1]:443"], trusted), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &["[2001:db8::1]"], trusted), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, ::ffff:10.1.1.1"], trusted), "1.1.1.1");
    }

    #[test]
    fn an_unreadable_hop_ends_the_walk() {
        let trusted = &["10.0.0.0/8"];
        for bad in ["", "unknown", "1.1.1.1, 300.1.1.1", "1.1.1.1,", "[1.1.1.1]", "[::1"] {
            assert_eq!(seen("10.0.0.1", &[bad], trusted), "10.0.0.1", "{bad}");
        }
    }

    #[test]
    fn non_text_bytes_do_not_hide_hops_that_a_proxy_appended() {
        let trusted = [Cidr::parse("10.0.0.0/8").unwrap()];
        for forged in [&b"\xff, 198.51.100.7"[..], b"\xc3\xa9,198.51.100.7 , 10.1.1.1"] {
            let mut headers = HeaderMap::new();
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(forged).unwrap());
            let seen = client("10.0.0.1".parse().unwrap(), &headers, &trusted);
            assert_eq!(seen.to_string(), "198.51.100.7", "{forged:?}");
        }
    }

    #[test]
    fn logs_show_networks_only() {
        let printed = |address: &str| Truncated(address.parse().unwrap()).to_string();
        assert_eq!(printed("192.0.2.77"), "192.0.2.0/24");
        assert_eq!(printed("::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(printed("2001:db8:1:2::3"), "2001:db8:1::/48");
    }

    #[test]
    fn ipv6_peers_count_by_their_64_their_56_and_their_48() {
        let of = |address: &str| {
            let networks = networks(address.parse().unwrap());
            let shown = networks.map(|(is, times)| format!("{}/{} {times}", is.address, is.prefix));
            shown.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            of("2001:db8:1:2345:6::7"),
            "2001:db8:1:2345::/64 1, 2001:db8:1:2300::/56 4, 2001:db8:1::/48 16"
        );
        assert_eq!(of("192.0.2.77"), "192.0.2.77/32 1");
        assert_eq!(of("::ffff:192.0.2.77"), "192.0.2.77/32 1");
    }

    #[test]
    fn ipv6_peers_count_by_their_64() {
        let key = |address: &str| limit_key(address.parse().unwrap()).to_string();
        assert_eq!(key("2001:db8:1:2:3::4"), "2001:db8:1:2::");
        assert_eq!(key("::ffff:192.0.2.77"), "192.0.2.77");
    }
}
