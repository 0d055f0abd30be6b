//! The addresses that outgoing connections may go to: public ones. Every range with a special
//! purpose (IANA registries) is denied; every other range is routed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not public, and the public metadata address of a cloud.
const DENIED_V4: [(Ipv4Addr, u32); 19] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only routed IPv6 range. Addresses that embed an IPv4 address are outside of it, except 6to4
/// and Teredo.
const ROUTED_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The parts of it that are not public: protocol assignments with Teredo, documentation, 6to4.
const DENIED_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether `address` belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !DENIED_V4.iter().any(|range| contains_v4(*range, v4)),
        IpAddr::V6(v6) => {
            contains_v6(ROUTED_V6, v6) && !DENIED_V6.iter().any(|range| contains_v6(*range, v6))
        }
    }
}

fn contains_v4((network, prefix): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (network.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

fn contains_v6((network, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (network.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

/// First and last address of each denied range, and the neighbours that are public; `-` where
/// the neighbour is denied as well.
#[cfg(test)]
const DENIED: &str = "
    -               0.0.0.0         0.255.255.255   1.0.0.0
    9.255.255.255   10.0.0.0        10.255.255.255  11.0.0.0
    100.63.255.255  100.64.0.0      100.127.255.255 100.128.0.0
    126.255.255.255 127.0.0.0       127.255.255.255 128.0.0.0
    168.63.129.15   168.63.129.16   168.63.129.16   168.63.129.17
    169.253.255.255 169.254.0.0     169.254.255.255 169.255.0.0
    172.15.255.255  172.16.0.0      172.31.255.255  172.32.0.0
    191.255.255.255 192.0.0.0       192.0.0.255     192.0.1.0
    192.0.1.255     192.0.2.0       192.0.2.255     192.0.3.0
    192.31.195.255  192.31.196.0    192.31.196.255  192.31.197.0
    192.52.192.255  192.52.193.0    192.52.193.255  192.52.194.0
    192.88.98.255   192.88.99.0     192.88.99.255   192.88.100.0
    192.167.255.255 192.168.0.0     192.168.255.255 192.169.0.0
    192.175.47.255  192.175.48.0    192.175.48.255  192.175.49.0
    198.17.255.255  198.18.0.0      198.19.255.255  198.20.0.0
    198.51.99.255   198.51.100.0    198.51.100.255  198.51.101.0
    203.0.112.255   203.0.113.0     203.0.113.255   203.0.114.0
    223.255.255.255 224.0.0.0       239.255.255.255 -
    -               240.0.0.0       255.255.255.255 -
    -               ::              1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2000::
    2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2001:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:200::
    2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9::
    2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2003::
    3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:1000::
    3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -
";

/// Addresses at the edges of every range, and whether they are denied.
#[cfg(test)]
pub(super) fn corpus() -> Vec<(IpAddr, bool)> {
    let edges = |line: &'static str| {
        let columns = line.split_whitespace().enumerate().filter(|(_, text)| *text != "-");
        columns.filter_map(|(column, text)| Some((text.parse().ok()?, matches!(column, 1 | 2))))
    };
    DENIED.lines().flat_map(edges).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn denied_ranges_have_the_right_edges() {
        assert_eq!(corpus().len(), 25 * 4 - 6);
        for (address, is_denied) in corpus() {
            assert_eq!(is_public(address), !is_denied, "{address}");
        }
    }

    #[test]
    fn ipv6_addresses_with_embedded_ipv4_are_not_public() {
        for text in [
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001:0:7f00:1::",
            "2002:7f00:1::",
            "5f00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["8.8.8.8", "2606:4700::1111", "2a00:1450::1"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
