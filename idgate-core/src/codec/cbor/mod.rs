//! Strict CBOR (RFC 8949) as a borrowed tree: one allocation per tape. Every item keeps its bytes
//! as received, because digests and signatures are made over those. Definite and indefinite lengths
//! are allowed, and so are heads longer than needed: 18013-5 does not require deterministic
//! encoding.
//!
//! Refused: duplicate map keys, keys other than integers and strings, nesting beyond [`MAX_DEPTH`]
//! (tags count), more than [`MAX_CBOR_ITEMS`] items, lengths beyond the input, text that is not
//! UTF-8, reserved additional information, bytes after the item.

mod parser;
mod to_json;
mod writer;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use self::parser::{Chunks, Parser};
pub(crate) use self::to_json::write_json;
pub(crate) use self::writer::Writer;
use crate::limits::MAX_CBOR_ITEMS;
#[cfg(doc)]
use crate::limits::MAX_DEPTH;
use crate::work;

/// The tag of a byte string that contains encoded CBOR (RFC 8949 3.4.5.1).
pub(crate) const ENCODED_CBOR: u64 = 24;

/// Whether `document` is one item of strict CBOR.
#[cfg(feature = "internals")]
pub fn is_strict(document: &[u8]) -> bool {
    Tape::default().parse(document).is_ok()
}

/// Bytes that are not strict CBOR.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub(crate) enum CborError {
    /// Not well-formed (RFC 8949 appendix C), or shorter than its lengths require.
    Syntax,
    /// Bytes after the item.
    TrailingBytes,
    /// A map has a repeated key (RFC 8949 5.6).
    DuplicateKey,
    /// A map key that is neither an integer nor a string.
    KeyType,
    /// Nested beyond [`MAX_DEPTH`].
    TooDeep,
    /// More items than the tape can hold.
    TooMany,
    /// A text string that is not UTF-8.
    Utf8,
}

impl fmt::Display for CborError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "is not well-formed CBOR",
            Self::TrailingBytes => "has bytes after the CBOR item",
            Self::DuplicateKey => "has a CBOR map with a duplicate key",
            Self::KeyType => "has a CBOR map key that is neither an integer nor a string",
            Self::TooDeep => "nests CBOR deeper than 32",
            Self::TooMany => "has too many CBOR items",
            Self::Utf8 => "has a CBOR text string that is not UTF-8",
        })
    }
}

impl core::error::Error for CborError {}

/// Parsed items in document order. Several documents can share one tape.
#[derive(Debug)]
pub(crate) struct Tape<'a> {
    nodes: Vec<Node<'a>>,
    max_nodes: usize,
}

/// An item's place on its tape.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NodeId(u32);

#[derive(Clone, Copy, Debug)]
struct Node<'a> {
    /// The whole item as received.
    raw: &'a [u8],
    /// The argument of its head; the bits of a double for floats.
    argument: u64,
    /// One past the last node of this item.
    end: u32,
    kind: NodeKind,
    /// Length of the head in bytes.
    head: u8,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NodeKind {
    Unsigned,
    Negative,
    Bytes { chunked: bool },
    Text { chunked: bool },
    Array,
    Map,
    Tag,
    Simple,
    Float,
}

/// A CBOR item on a tape.
#[derive(Clone, Copy)]
pub(crate) struct Value<'t, 'a> {
    nodes: &'t [Node<'a>],
    at: u32,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // CBOR has exactly these
pub(crate) enum Kind {
    /// Major type 0
    Unsigned,
    /// Major type 1
    Negative,
    /// Major type 2
    Bytes,
    /// Major type 3
    Text,
    /// Major type 4
    Array,
    /// Major type 5
    Map,
    /// Major type 6
    Tag,
    /// Major type 7, simple values
    Simple,
    /// Major type 7, floating point
    Float,
}

impl<'a> Tape<'a> {
    /// An empty tape with room for the items of a typical document of `bytes`; it holds at most
    /// [`MAX_CBOR_ITEMS`].
    pub(crate) fn with_room_for(bytes: usize) -> Self {
        Self {
            nodes: Vec::with_capacity((bytes / 8 + 4).min(MAX_CBOR_ITEMS)),
            max_nodes: MAX_CBOR_ITEMS,
        }
    }

    /// An empty tape for a long document of `bytes`; it holds at most `max_nodes`. An item takes at
    /// least a byte, so there is room for all of them: a growing tape would be copied repeatedly.
    pub(crate) fn for_list(bytes: usize, max_nodes: usize) -> Self {
        Self { nodes: Vec::with_capacity(bytes.min(max_nodes)), max_nodes }
    }

    /// Removes all documents, but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Parses one document onto the tape.
    ///
    /// # Errors
    /// The document is not strict CBOR; the tape keeps nothing of it.
    pub(crate) fn parse(&mut self, document: &'a [u8]) -> Result<NodeId, CborError> {
        let start = self.nodes.len();
        let result = Parser::new(document, &mut self.nodes, self.max_nodes).document();
        if result.is_err() {
            self.nodes.truncate(start);
        }
        result
    }

    /// The item at `id`; `undefined` for an id of another tape.
    pub(crate) fn value(&self, id: NodeId) -> Value<'_, 'a> {
        Value { nodes: &self.nodes, at: id.0 }
    }
}

impl Default for Tape<'_> {
    fn default() -> Self {
        Self { nodes: Vec::new(), max_nodes: MAX_CBOR_ITEMS }
    }
}

const FALSE: u64 = 20;
const TRUE: u64 = 21;
const NULL: u64 = 22;
const UNDEFINED: u64 = 23;

impl<'t, 'a> Value<'t, 'a> {
    fn node(self) -> Node<'a> {
        const NOTHING: Node<'static> =
            Node { raw: &[0xf7], argument: UNDEFINED, end: 0, kind: NodeKind::Simple, head: 1 };
        usize::try_from(self.at).ok().and_then(|at| self.nodes.get(at)).copied().unwrap_or(NOTHING)
    }

    /// Returns the kind of the item.
    pub(crate) fn kind(self) -> Kind {
        match self.node().kind {
            NodeKind::Unsigned => Kind::Unsigned,
            NodeKind::Negative => Kind::Negative,
            NodeKind::Bytes { .. } => Kind::Bytes,
            NodeKind::Text { .. } => Kind::Text,
            NodeKind::Array => Kind::Array,
            NodeKind::Map => Kind::Map,
            NodeKind::Tag => Kind::Tag,
            NodeKind::Simple => Kind::Simple,
            NodeKind::Float => Kind::Float,
        }
    }

    /// The whole item including its head, exactly as received.
    pub(crate) fn raw(self) -> &'a [u8] {
        self.node().raw
    }

    /// An unsigned integer.
    pub(crate) fn as_u64(self) -> Option<u64> {
        let node = self.node();
        (node.kind == NodeKind::Unsigned).then_some(node.argument)
    }

    /// An integer between -2^63 and 2^63 - 1.
    pub(crate) fn as_i64(self) -> Option<i64> {
        let node = self.node();
        let argument = i64::try_from(node.argument).ok()?;
        match node.kind {
            NodeKind::Unsigned => Some(argument),
            NodeKind::Negative => Some(-1 - argument),
            _ => None,
        }
    }

    /// A floating-point number of any width.
    pub(crate) fn as_f64(self) -> Option<f64> {
        let node = self.node();
        (node.kind == NodeKind::Float).then_some(f64::from_bits(node.argument))
    }

    /// A byte string; borrowed unless it came in chunks.
    pub(crate) fn as_bytes(self) -> Option<Cow<'a, [u8]>> {
        let node = self.node();
        match node.kind {
            NodeKind::Bytes { chunked } => Some(content(&node, chunked)),
            _ => None,
        }
    }

    /// A text string; borrowed unless it came in chunks.
    pub(crate) fn as_text(self) -> Option<Cow<'a, str>> {
        let node = self.node();
        let NodeKind::Text { chunked } = node.kind else { return None };
        match content(&node, chunked) {
            Cow::Borrowed(bytes) => core::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }

    fn is_chunked(self) -> bool {
        use NodeKind::{Bytes, Text};
        matches!(self.node().kind, Bytes { chunked: true } | Text { chunked: true })
    }

    /// Whether it is the text string `text`.
    pub(crate) fn is_text(self, text: &str) -> bool {
        let node = self.node();
        work::comparison(text.len());
        match node.kind {
            NodeKind::Text { chunked: true } => Chunks::of(node.raw).is(text.as_bytes()),
            NodeKind::Text { chunked: false } => *content(&node, false) == *text.as_bytes(),
            _ => false,
        }
    }

    /// A boolean.
    pub(crate) fn as_bool(self) -> Option<bool> {
        match self.simple() {
            Some(FALSE) => Some(false),
            Some(TRUE) => Some(true),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        self.simple() == Some(NULL)
    }

    fn simple(self) -> Option<u64> {
        let node = self.node();
        (node.kind == NodeKind::Simple).then_some(node.argument)
    }

    /// A tag's number and content.
    pub(crate) fn as_tagged(self) -> Option<(u64, Self)> {
        let node = self.node();
        (node.kind == NodeKind::Tag)
            .then(|| (node.argument, Value { nodes: self.nodes, at: self.at.saturating_add(1) }))
    }

    /// The content of tag `number`.
    pub(crate) fn tagged(self, number: u64) -> Option<Self> {
        self.as_tagged().filter(|(tag, _)| *tag == number).map(|(_, content)| content)
    }

    /// The document in a byte string of tag 24.
    pub(crate) fn encoded_cbor(self) -> Option<Cow<'a, [u8]>> {
        self.tagged(ENCODED_CBOR)?.as_bytes()
    }

    /// The elements of an array.
    pub(crate) fn elements(self) -> Option<Elements<'t, 'a>> {
        (self.node().kind == NodeKind::Array).then(|| self.children())
    }

    /// Keys and values of a map, in document order.
    pub(crate) fn entries(self) -> Option<Entries<'t, 'a>> {
        (self.node().kind == NodeKind::Map).then(|| Entries(self.children()))
    }

    /// The value of a text key in a map.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        self.entries()?.find(|(name, _)| name.is_text(key)).map(|(_, value)| value)
    }

    /// The value of an integer key in a map.
    pub(crate) fn get_label(self, label: i64) -> Option<Self> {
        self.entries()?.find(|(key, _)| key.as_i64() == Some(label)).map(|(_, value)| value)
    }

    fn children(self) -> Elements<'t, 'a> {
        Elements { nodes: self.nodes, at: self.at.saturating_add(1), end: self.node().end }
    }
}

/// Decodes one document and reads something from it.
///
/// # Errors
/// The document is not strict CBOR.
pub(crate) fn decode<R>(
    document: &[u8],
    read: impl FnOnce(Value<'_, '_>) -> R,
) -> Result<R, CborError> {
    let mut tape = Tape::with_room_for(document.len());
    let id = tape.parse(document)?;
    Ok(read(tape.value(id)))
}

/// The content of a string.
fn content<'a>(node: &Node<'a>, chunked: bool) -> Cow<'a, [u8]> {
    if chunked {
        return Cow::Owned(Chunks::of(node.raw).join());
    }
    Cow::Borrowed(node.raw.get(usize::from(node.head)..).unwrap_or_default())
}

impl fmt::Debug for Value<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())
    }
}

/// Iterates over array elements.
#[derive(Clone)]
pub(crate) struct Elements<'t, 'a> {
    nodes: &'t [Node<'a>],
    at: u32,
    end: u32,
}

impl<'t, 'a> Iterator for Elements<'t, 'a> {
    type Item = Value<'t, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        work::steps(2);
        let value = Value { nodes: self.nodes, at: self.at };
        self.at = value.node().end.max(self.at.saturating_add(1));
        Some(value)
    }
}

impl fmt::Debug for Elements<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elements")
    }
}

/// Iterates over map entries.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'t, 'a>(Elements<'t, 'a>);

impl<'t, 'a> Iterator for Entries<'t, 'a> {
    type Item = (Value<'t, 'a>, Value<'t, 'a>);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
