//! Writes the few structures that are signed, hashed or authenticated: definite lengths, shortest
//! heads (RFC 8949 4.2.1).

use alloc::vec::Vec;

/// CBOR under construction. Containers state the number of items that follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates an empty writer with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    /// The bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// An array of the `count` items that follow.
    #[must_use]
    pub(crate) fn array(self, count: usize) -> Self {
        self.head(4, count)
    }

    /// A map of the `count` pairs of key and value that follow.
    #[must_use]
    pub(crate) fn map(self, count: usize) -> Self {
        self.head(5, count)
    }

    /// A small integer, such as a label.
    #[must_use]
    pub(crate) fn integer(self, value: i8) -> Self {
        let (major, argument) = if value < 0 { (1, !value) } else { (0, value) };
        self.head(major, usize::from(argument.unsigned_abs()))
    }

    /// `false`
    #[must_use]
    pub(crate) fn no(self) -> Self {
        self.raw(&[0xf4])
    }

    /// A tag on the item that follows.
    #[must_use]
    pub(crate) fn tag(self, number: u8) -> Self {
        self.head(6, usize::from(number))
    }

    /// A byte string.
    #[must_use]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.head(2, bytes.len()).raw(bytes)
    }

    /// A text string.
    #[must_use]
    pub(crate) fn text(self, text: &str) -> Self {
        self.head(3, text.len()).raw(text.as_bytes())
    }

    /// `null`
    #[must_use]
    pub(crate) fn null(self) -> Self {
        self.raw(&[0xf6])
    }

    /// An item that is already encoded.
    #[must_use]
    pub(crate) fn raw(mut self, item: &[u8]) -> Self {
        self.bytes.extend_from_slice(item);
        self
    }

    fn head(mut self, major: u8, argument: usize) -> Self {
        let argument = u64::try_from(argument).unwrap_or(u64::MAX);
        let [.., b3, b2, b1, b0] = argument.to_be_bytes();
        let first = major << 5;
        match argument {
            0..=23 => self.bytes.push(first | b0),
            24..=0xff => self.bytes.extend_from_slice(&[first | 24, b0]),
            0x100..=0xffff => self.bytes.extend_from_slice(&[first | 25, b1, b0]),
            0x1_0000..=0xffff_ffff => {
                self.bytes.extend_from_slice(&[first | 26, b3, b2, b1, b0]);
            }
            _ => {
                self.bytes.push(first | 27);
                self.bytes.extend_from_slice(&argument.to_be_bytes());
            }
        }
        self
    }
}
