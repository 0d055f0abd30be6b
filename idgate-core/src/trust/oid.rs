//! Object identifiers, as operators write them and as certificates contain them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// An object identifier.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Oid {
    /// The content bytes of an OBJECT IDENTIFIER (X.690 8.19).
    der: Vec<u8>,
}

impl Oid {
    /// Parses dotted decimal, for example `1.0.18013.5.1.2`: at least two arcs, each below 2^64.
    pub fn parse(dotted: &str) -> Option<Self> {
        let mut arcs = dotted.split('.').map(arc);
        let (first, second) = (arcs.next()??, arcs.next()??);
        if first > 2 || (first < 2 && second > 39) {
            return None;
        }
        let mut der = Vec::new();
        push_arc(&mut der, second.checked_add(first * 40)?);
        for arc in arcs {
            push_arc(&mut der, arc?);
        }
        Some(Self { der })
    }

    /// The content bytes of an OBJECT IDENTIFIER.
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }
}

/// Dotted decimal.
impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&dotted(&self.der))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({self})")
    }
}

/// Dotted decimal of an OBJECT IDENTIFIER's content; arcs beyond 64 bits saturate.
pub(crate) fn dotted(der: &[u8]) -> String {
    use core::fmt::Write as _;
    let mut text = String::new();
    let mut value: u64 = 0;
    let mut is_first = true;
    for byte in der {
        value = value.saturating_mul(128).saturating_add(u64::from(byte & 0x7f));
        if byte & 0x80 != 0 {
            continue;
        }
        let written = if is_first {
            let root = (value / 40).min(2);
            write!(text, "{root}.{}", value - root * 40)
        } else {
            write!(text, ".{value}")
        };
        debug_assert!(written.is_ok());
        is_first = false;
        value = 0;
    }
    text
}

fn arc(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with('0');
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_canonical && is_number { text.parse().ok() } else { None }
}

/// Base 128, most significant group first.
fn push_arc(der: &mut Vec<u8>, arc: u64) {
    for group in (1..10).rev() {
        let shifted = arc >> (7 * group);
        if shifted != 0 {
            der.push(0x80 | low_bits(shifted));
        }
    }
    der.push(low_bits(arc));
}

fn low_bits(value: u64) -> u8 {
    (value & 0x7f).to_le_bytes()[0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn dotted_and_der_agree() {
        for (dotted, der) in [
            ("1.0.18013.5.1.2", &b"\x28\x81\x8c\x5d\x05\x01\x02"[..]),
            ("2.23.136.1.1.3", b"\x67\x81\x08\x01\x01\x03"),
            ("1.2.840.10045.2.1", b"\x2a\x86\x48\xce\x3d\x02\x01"),
            ("2.5.29.37", b"\x55\x1d\x25"),
            ("2.999", b"\x88\x37"),
            ("0.0", b"\x00"),
            ("1.3.18446744073709551615", b"\x2b\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        ] {
            let oid = Oid::parse(dotted).unwrap();
            assert_eq!(oid.as_der(), der, "{dotted}");
            assert_eq!(oid.to_string(), dotted);
        }
    }

    #[test]
    fn refuses_text_that_is_not_an_oid() {
        for text in [
            "",
            "1",
            "1.",
            ".1",
            "1..2",
            "3.1",
            "1.40",
            "1.01",
            "1.-1",
            "1.a",
            "1.18446744073709551616",
            "2.18446744073709551600",
            " 1.2",
        ] {
            assert_eq!(Oid::parse(text), None, "{text}");
        }
    }
}
