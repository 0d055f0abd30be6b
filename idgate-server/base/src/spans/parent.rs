//! The `traceparent` header (W3C Trace Context 3.2), which names the parent of a span. `tracestate`
//! is neither read nor sent: it is free text of its sender, and would be stored with a session and
//! sent to webhooks.

use std::fmt;

/// The flag of a sampled trace.
const SAMPLED: u8 = 1;
/// Length of the version 00 form.
const LENGTH: usize = 55;

/// A span of this gateway or of another system, as a parent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parent {
    /// Not zero.
    pub trace_id: [u8; 16],
    /// Not zero.
    pub span_id: [u8; 8],
    /// Whether the trace is sampled.
    pub sampled: bool,
}

impl Parent {
    /// Parses the header's value. Later versions may append more.
    pub fn parse(text: &str) -> Option<Self> {
        let (known, more) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let version: [u8; 1] = hex(parts.next()?)?;
        let trace_id = hex(parts.next()?)?;
        let span_id = hex(parts.next()?)?;
        let [flags] = hex(parts.next()?)?;
        let is_whole = parts.next().is_none()
            && match version {
                [0xff] => false,
                [0] => more.is_empty(),
                _ => more.is_empty() || more.starts_with('-'),
            };
        let is_none = trace_id == [0; 16] || span_id == [0; 8];
        let sampled = flags & SAMPLED != 0;
        (is_whole && !is_none).then_some(Self { trace_id, span_id, sampled })
    }
}

impl Parent {
    /// Both ids in hexadecimal, as people and collectors write them.
    pub fn ids(&self) -> (String, String) {
        let (trace, span) = (u128::from_be_bytes(self.trace_id), u64::from_be_bytes(self.span_id));
        (format!("{trace:032x}"), format!("{span:016x}"))
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = self.ids();
        write!(f, "00-{trace}-{span}-{:02x}", u8::from(self.sampled))
    }
}

/// Exactly this many bytes in lower-case hexadecimal.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N.checked_mul(2)? {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(character.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parsed_value_is_written_unchanged() {
        let parent = Parent::parse(GOOD).unwrap();
        assert!(parent.sampled);
        assert_eq!(parent.to_string(), GOOD);
        let other = GOOD.strip_suffix("01").unwrap().to_owned() + "00";
        assert!(!Parent::parse(&other).unwrap().sampled);
        assert_eq!(Parent::parse(&other).unwrap().to_string(), other);
        // Flags that this version does not define are not passed on.
        let more = GOOD.strip_suffix("01").unwrap().to_owned() + "ff";
        assert_eq!(Parent::parse(&more).unwrap().to_string(), GOOD);
    }

    #[test]
    fn a_later_version_may_append_fields() {
        for good in [GOOD.replacen("00", "01", 1), GOOD.replacen("00", "cc", 1) + "-more-of-it"] {
            assert_eq!(Parent::parse(&good).unwrap().to_string(), GOOD, "{good}");
        }
        for bad in [GOOD.to_owned() + "-more", GOOD.replacen("00", "cc", 1) + "more"] {
            assert_eq!(Parent::parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn an_invalid_value_is_none() {
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47360-0f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "0-04bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, ",
        ] {
            assert_eq!(Parent::parse(bad), None, "{bad}");
        }
    }
}
