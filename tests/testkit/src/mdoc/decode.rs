//! CBOR as verifiers write it: definite lengths, no floating-point numbers.

use super::cbor::Cbor;

impl Cbor {
    /// The only item in `bytes`; `None`: they hold something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let item = read(&mut rest)?;
        rest.is_empty().then_some(item)
    }

    /// The value of an entry of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(own, _)| *own == key.into()).map(|(_, value)| value)
    }

    /// The value of an entry whose key is a number.
    pub fn label(&self, label: i64) -> Option<&Self> {
        self.entries()?.iter().find(|(own, _)| *own == label.into()).map(|(_, value)| value)
    }

    /// The entries of a map.
    pub fn entries(&self) -> Option<&[(Self, Self)]> {
        if let Self::Map(entries) = self { Some(entries) } else { None }
    }

    /// The elements of an array.
    pub fn elements(&self) -> Option<&[Self]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// A byte string.
    pub fn bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// A text string.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The item in a byte string of tag 24.
    pub fn embedded(&self) -> Option<Self> {
        match self {
            Self::Tag(24, content) => Self::decode(content.bytes()?),
            _ => None,
        }
    }
}

fn read(rest: &mut &[u8]) -> Option<Cbor> {
    let first = *take(rest, 1)?.first()?;
    let len = match first & 0x1f {
        0..=23 => 0,
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return None,
    };
    let argument = match len {
        0 => u64::from(first & 0x1f),
        len => take(rest, len)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    };
    let count = usize::try_from(argument).ok()?;
    Some(match first >> 5 {
        0 => Cbor::Int(i64::try_from(argument).ok()?),
        1 => Cbor::Int(-1 - i64::try_from(argument).ok()?),
        2 => Cbor::Bytes(take(rest, count)?.to_vec()),
        3 => Cbor::Text(String::from_utf8(take(rest, count)?.to_vec()).ok()?),
        4 => Cbor::Array((0..count).map(|_| read(rest)).collect::<Option<_>>()?),
        5 => Cbor::Map((0..count).map(|_| read(rest).zip(read(rest))).collect::<Option<_>>()?),
        6 => Cbor::Tag(argument, Box::new(read(rest)?)),
        _ => match first {
            0xf4 | 0xf5 => Cbor::Bool(first == 0xf5),
            0xf6 => Cbor::Null,
            0xf7 => Cbor::Undefined,
            _ => return None,
        },
    })
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_written() {
        let item = Cbor::map([
            ("a", Cbor::Array(vec![1.into(), (-1000).into(), Cbor::Bytes(vec![7; 300])])),
            ("b", Cbor::Map(vec![(33.into(), true.into()), ("x".into(), Cbor::Null)])),
            ("c", Cbor::map([("d", "e".into())]).to_encoded()),
        ]);
        assert_eq!(Cbor::decode(&item.encode()), Some(item.clone()));
        assert_eq!(item.get("b").and_then(|b| b.label(33)), Some(&Cbor::Bool(true)));
        let inner = item.get("c").and_then(Cbor::embedded);
        assert_eq!(inner.as_ref().and_then(|c| c.get("d")).and_then(Cbor::text), Some("e"));
        for bad in [&b""[..], b"\x01\x01", b"\x42A", b"\xfb", b"\x9f\xff", b"\xfc"] {
            assert_eq!(Cbor::decode(bad), None);
        }
    }
}
