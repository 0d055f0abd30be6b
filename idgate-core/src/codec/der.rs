//! DER, one element at a time, over borrowed bytes (X.690 8.1, 10.1): definite lengths in their
//! shortest form, tags of one byte. Callers interpret the elements.

use crate::work;

/// BOOLEAN
pub(crate) const BOOLEAN: u8 = 0x01;
/// INTEGER
pub(crate) const INTEGER: u8 = 0x02;
/// BIT STRING
pub(crate) const BIT_STRING: u8 = 0x03;
/// OCTET STRING
pub(crate) const OCTET_STRING: u8 = 0x04;
/// OBJECT IDENTIFIER
pub(crate) const OID: u8 = 0x06;
/// SEQUENCE
pub(crate) const SEQUENCE: u8 = 0x30;
/// SET
pub(crate) const SET: u8 = 0x31;

/// The constructed context-specific tag `[n]`, `n` under 31.
pub(crate) const fn context(n: u8) -> u8 {
    0xa0 | n
}

/// One element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Tlv<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// Tag, length and content as received.
    pub(crate) raw: &'a [u8],
}

/// Reads consecutive elements.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(input: &'a [u8]) -> Self {
        Self { rest: input }
    }

    /// The elements inside the only element of `input`, which must have this tag.
    pub(crate) fn within(input: &'a [u8], tag: u8) -> Option<Self> {
        let mut outer = Self::new(input);
        let inner = outer.element(tag)?;
        outer.is_empty().then(|| Self::new(inner.content))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next element.
    pub(crate) fn next(&mut self) -> Option<Tlv<'a>> {
        let (&[tag, first], after) = self.rest.split_first_chunk::<2>()?;
        work::steps(4);
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (len, after) = match first {
            0..0x80 => (usize::from(first), after),
            _ => long_length(first & 0x7f, after)?,
        };
        let (content, rest) = after.split_at_checked(len)?;
        let raw = self.rest.get(..self.rest.len().checked_sub(rest.len())?)?;
        self.rest = rest;
        Some(Tlv { tag, content, raw })
    }

    /// The next element, which must have this tag.
    pub(crate) fn element(&mut self, tag: u8) -> Option<Tlv<'a>> {
        self.next().filter(|tlv| tlv.tag == tag)
    }

    /// The elements inside the next one, which must have this tag.
    pub(crate) fn enter(&mut self, tag: u8) -> Option<Self> {
        self.element(tag).map(|tlv| Self::new(tlv.content))
    }

    /// The next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<Tlv<'a>> {
        if self.rest.first() == Some(&tag) { self.next() } else { None }
    }

    /// The next element, a non-negative INTEGER, as big-endian bytes without leading zeros.
    pub(crate) fn unsigned(&mut self) -> Option<&'a [u8]> {
        let content = self.element(INTEGER)?.content;
        let negative = content.first()? & 0x80 != 0;
        (!negative).then(|| without_leading_zeros(content))
    }
}

/// The number without leading zeros.
pub(crate) fn without_leading_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    work::steps(zeros);
    bytes.get(zeros..).unwrap_or_default()
}

/// The bits of a BIT STRING's content that ends on a byte.
pub(crate) fn whole_bytes(bit_string: &[u8]) -> Option<&[u8]> {
    bit_string.strip_prefix(&[0])
}

fn long_length(bytes: u8, input: &[u8]) -> Option<(usize, &[u8])> {
    let (length, after) = input.split_at_checked(usize::from(bytes))?;
    if length.is_empty() || length.len() > 4 || length.first() == Some(&0) {
        return None;
    }
    let value = length.iter().fold(0usize, |value, byte| (value << 8) | usize::from(*byte));
    (value >= 0x80).then_some((value, after))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn keeps_content_and_raw_bytes_apart() {
        let mut reader = Reader::new(b"\x02\x01\x05\x30\x03\x06\x01\x2a\x04\x00");
        let integer = reader.element(INTEGER).unwrap();
        assert_eq!((integer.content, integer.raw), (&b"\x05"[..], &b"\x02\x01\x05"[..]));
        assert_eq!(reader.optional(SET), None);
        assert_eq!(reader.enter(SEQUENCE).unwrap().element(OID).unwrap().content, b"\x2a");
        assert_eq!(reader.next().unwrap().content, b"");
        assert!(reader.is_empty());
        assert_eq!(reader.next(), None);
    }

    #[test]
    fn reads_long_lengths_in_their_shortest_form_only() {
        let body = [7; 0x1_0000];
        let of = |header: &[u8], len: usize| [header, &body[..len]].concat();
        for (header, len) in [
            (&b"\x04\x7f"[..], 0x7f),
            (b"\x04\x81\x80", 0x80),
            (b"\x04\x82\x01\x00", 0x100),
            (b"\x04\x83\x01\x00\x00", 0x1_0000),
        ] {
            let der = of(header, len);
            assert_eq!(Reader::new(&der).next().unwrap().content.len(), len);
            assert_eq!(Reader::new(&der[..der.len() - 1]).next(), None);
        }
        for (header, len) in [
            (&b"\x04\x81\x7f"[..], 0x7f),
            (b"\x04\x82\x00\x80", 0x80),
            (b"\x04\x83\x00\x01\x00", 0x100),
            (b"\x04\x85\x00\x00\x00\x00\x01", 1),
            (b"\x04\x85\x01\x00\x00\x00\x00", 1),
            (b"\x04\xff", 0),
        ] {
            assert_eq!(Reader::new(&of(header, len)).next(), None, "{header:x?}");
        }
    }

    #[test]
    fn refuses_indefinite_lengths_and_long_tags() {
        assert_eq!(Reader::new(b"\x30\x80\x02\x01\x05\x00\x00").next(), None);
        assert_eq!(Reader::new(b"\x1f\x20\x01\x05").next(), None);
        assert_eq!(Reader::new(b"\xbf\x20\x01\x05").next(), None);
        for short in [&b""[..], b"\x30", b"\x30\x01", b"\x30\x81", b"\x30\x82\x01"] {
            assert_eq!(Reader::new(short).next(), None);
        }
    }

    #[test]
    fn an_enclosing_element_has_nothing_after_it() {
        assert!(Reader::within(b"\x30\x02\x04\x00", SEQUENCE).is_some());
        assert!(Reader::within(b"\x30\x02\x04\x00\x00", SEQUENCE).is_none());
        assert!(Reader::within(b"\x31\x02\x04\x00", SEQUENCE).is_none());
    }

    #[test]
    fn unsigned_integers_lose_their_sign_byte() {
        assert_eq!(Reader::new(b"\x02\x02\x00\x80").unsigned(), Some(&b"\x80"[..]));
        assert_eq!(Reader::new(b"\x02\x01\x00").unsigned(), Some(&b""[..]));
        assert_eq!(Reader::new(b"\x02\x01\x80").unsigned(), None);
        assert_eq!(Reader::new(b"\x02\x00").unsigned(), None);
        assert_eq!(whole_bytes(b"\x00\x01"), Some(&b"\x01"[..]));
        assert_eq!(whole_bytes(b"\x01\x02"), None);
        assert_eq!(whole_bytes(b""), None);
    }
}
