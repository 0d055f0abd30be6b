//! CBOR as a tree that is written without checks.

/// A CBOR item.
#[derive(Clone, Debug, PartialEq)]
pub enum Cbor {
    /// An integer of either sign.
    Int(i64),
    /// A byte string.
    Bytes(Vec<u8>),
    /// A text string.
    Text(String),
    /// An array.
    Array(Vec<Cbor>),
    /// A map in this order, possibly with duplicates.
    Map(Vec<(Cbor, Cbor)>),
    /// A tag and its content.
    Tag(u64, Box<Cbor>),
    /// A boolean.
    Bool(bool),
    /// A double.
    Float(f64),
    /// `null`
    Null,
    /// `undefined`
    Undefined,
    /// Bytes that are written as they are.
    Raw(Vec<u8>),
}

impl From<&str> for Cbor {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<i64> for Cbor {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Cbor {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl Cbor {
    /// A map with text keys.
    pub fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A date and time as text (tag 0).
    pub fn tdate(text: &str) -> Self {
        Self::Tag(0, Box::new(text.into()))
    }

    /// A date as text (tag 1004).
    pub fn full_date(text: &str) -> Self {
        Self::Tag(1004, Box::new(text.into()))
    }

    /// A byte string in tag 24.
    pub fn encoded(bytes: Vec<u8>) -> Self {
        Self::Tag(24, Box::new(Self::Bytes(bytes)))
    }

    /// This item, encoded, in tag 24.
    pub fn to_encoded(&self) -> Self {
        Self::encoded(self.encode())
    }

    /// Sets an entry of a map; anything else becomes one.
    pub fn set(&mut self, key: impl Into<Self>, value: impl Into<Self>) {
        let (key, value) = (key.into(), value.into());
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(Vec::new());
        }
        let Self::Map(entries) = self else { return };
        match entries.iter_mut().find(|(own, _)| *own == key) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
    }

    /// Removes an entry of a map.
    pub fn remove(&mut self, key: impl Into<Self>) {
        let key = key.into();
        if let Self::Map(entries) = self {
            entries.retain(|(own, _)| *own != key);
        }
    }

    /// The value of an entry of a map, for change; made `null` when it is not there.
    pub fn at(&mut self, key: impl Into<Self>) -> &mut Self {
        let key = key.into();
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(Vec::new());
        }
        let Self::Map(entries) = self else { return self };
        let found = entries.iter().position(|(own, _)| *own == key);
        let at = found.unwrap_or_else(|| {
            entries.push((key, Self::Null));
            entries.len() - 1
        });
        #[allow(clippy::indexing_slicing)] // found, or just pushed
        &mut entries[at].1
    }

    /// The bytes: definite lengths, shortest heads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) if *number < 0 => head(1, (-1 - number).unsigned_abs(), out),
            Self::Int(number) => head(0, number.unsigned_abs(), out),
            Self::Bytes(bytes) => string(2, bytes, out),
            Self::Text(text) => string(3, text.as_bytes(), out),
            Self::Array(elements) => {
                head(4, elements.len() as u64, out);
                elements.iter().for_each(|element| element.write(out));
            }
            Self::Map(entries) => {
                head(5, entries.len() as u64, out);
                for (key, value) in entries {
                    key.write(out);
                    value.write(out);
                }
            }
            Self::Tag(number, content) => {
                head(6, *number, out);
                content.write(out);
            }
            Self::Bool(value) => out.push(if *value { 0xf5 } else { 0xf4 }),
            Self::Float(value) => {
                out.push(0xfb);
                out.extend(value.to_be_bytes());
            }
            Self::Null => out.push(0xf6),
            Self::Undefined => out.push(0xf7),
            Self::Raw(bytes) => out.extend(bytes),
        }
    }
}

fn string(major: u8, content: &[u8], out: &mut Vec<u8>) {
    head(major, content.len() as u64, out);
    out.extend(content);
}

fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let bytes = argument.to_be_bytes();
    let (info, len) = match argument {
        0..=23 => {
            out.push(major << 5 | bytes[7]);
            return;
        }
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | info);
    out.extend(bytes.iter().skip(8 - len));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8949 appendix A.
    #[test]
    fn writes_the_examples_of_the_rfc() {
        for (item, expected) in [
            (Cbor::Int(23), &b"\x17"[..]),
            (Cbor::Int(1000), b"\x19\x03\xe8"),
            (Cbor::Int(-1000), b"\x39\x03\xe7"),
            (Cbor::Int(1_000_000_000_000), b"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00"),
            (Cbor::Float(1.1), b"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a"),
            (Cbor::map([("a", 1.into())]), b"\xa1\x61a\x01"),
            (Cbor::encoded(b"dIETF".to_vec()), b"\xd8\x18\x45dIETF"),
        ] {
            assert_eq!(item.encode(), expected);
        }
    }

    #[test]
    fn entries_are_set_changed_and_removed() {
        let mut map = Cbor::Null;
        map.set("a", 1);
        map.at("b").set(33, true);
        map.remove("a");
        assert_eq!(map.encode(), b"\xa1\x61b\xa1\x18\x21\xf5");
    }
}
