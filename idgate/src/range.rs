//! Address ranges that operators and embedders allow.

use std::net::IpAddr;

/// A range of addresses, for example `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u32,
}

impl Cidr {
    /// Parses `address/prefix`, or a single address.
    ///
    /// # Errors
    /// The text is not a range. The message says what to write instead.
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

    /// Whether the range contains `address`. An IPv4 address written as IPv6 counts as IPv4.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    fn other_texts_are_not_ranges() {
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
    }
}
