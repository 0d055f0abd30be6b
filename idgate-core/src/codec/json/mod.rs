//! Strict JSON (RFC 8259) as a borrowed tree: one allocation per tape, and values keep their source
//! text.
//!
//! Refused: duplicate member names, nesting beyond [`MAX_DEPTH`], more than [`MAX_JSON_VALUES`]
//! values, numbers beyond the range of a double (`1e400`), lone surrogates, text after the value.
//! Parsed values are not written again; `json_text` writes our own values.

mod number;
mod parser;
mod text;
mod writer;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use self::parser::Parser;
pub use self::text::Text;
pub(crate) use self::writer::json_text;
#[cfg(doc)]
use crate::limits::MAX_DEPTH;
use crate::limits::MAX_JSON_VALUES;
use crate::work;

/// Text that is not strict JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON, or not UTF-8.
    Syntax,
    /// An object has a repeated member name (RFC 8259 4).
    DuplicateName,
    /// Nested beyond [`MAX_DEPTH`].
    TooDeep,
    /// More values than the tape can hold, at most [`MAX_JSON_VALUES`], or too many names with
    /// escapes.
    TooMany,
    /// A number outside the range of a double.
    NumberRange,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "is not valid JSON",
            Self::DuplicateName => "names a JSON member twice",
            Self::TooDeep => "nests JSON deeper than 32",
            Self::TooMany => "has too many JSON values, or too many names with escapes",
            Self::NumberRange => "has a number outside the range of a double",
        })
    }
}

impl core::error::Error for JsonError {}

/// Parsed values in document order. Several texts can share one tape.
pub struct Tape<'a> {
    nodes: Vec<Node<'a>>,
    max_values: usize,
}

/// A value's place on its tape.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NodeId(u32);

#[derive(Clone, Copy)]
struct Node<'a> {
    /// The source text; for strings without the quotes.
    text: &'a str,
    kind: NodeKind,
    /// One past the last node of this value.
    end: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NodeKind {
    Null,
    Bool(bool),
    Number,
    String { escaped: bool },
    Array,
    Object,
}

/// A JSON value on a tape.
#[derive(Clone, Copy)]
pub struct Value<'t, 'a> {
    nodes: &'t [Node<'a>],
    at: u32,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // JSON has exactly these six
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl<'a> Tape<'a> {
    /// An empty tape with room for `values`, at most [`MAX_JSON_VALUES`].
    pub fn with_capacity(values: usize) -> Self {
        let nodes = Vec::with_capacity(values.min(MAX_JSON_VALUES));
        Self { nodes, max_values: MAX_JSON_VALUES }
    }

    /// An empty tape that holds at most `max_values`.
    pub(crate) const fn holding(max_values: usize) -> Self {
        Self { nodes: Vec::new(), max_values }
    }

    /// Parses one text onto the tape.
    ///
    /// # Errors
    /// The text is not strict JSON; the tape keeps nothing of it.
    pub fn parse(&mut self, text: &'a [u8]) -> Result<NodeId, JsonError> {
        self.parse_up_to(text).map_err(|(error, _)| error)
    }

    /// Parses a text that people write.
    ///
    /// # Errors
    /// The fault with its place: line and column, counted from 1. A repeated name is found only at
    /// the end of its object, so it has no place.
    pub fn parse_explaining(&mut self, text: &'a [u8]) -> Result<NodeId, String> {
        self.parse_up_to(text).map_err(|(error, at)| {
            if error == JsonError::DuplicateName {
                return error.to_string();
            }
            let before = String::from_utf8_lossy(text.get(..at).unwrap_or(text));
            let line = before.matches('\n').count().saturating_add(1);
            let column = before.rsplit('\n').next().unwrap_or("").chars().count().saturating_add(1);
            format!("{error} (line {line}, column {column})")
        })
    }

    /// Parses; an error comes with the number of bytes read before it.
    fn parse_up_to(&mut self, text: &'a [u8]) -> Result<NodeId, (JsonError, usize)> {
        work::steps(text.len() / 16);
        let text =
            core::str::from_utf8(text).map_err(|error| (JsonError::Syntax, error.valid_up_to()))?;
        let start = self.nodes.len();
        let (nodes, max_values) = (&mut self.nodes, self.max_values);
        let mut parser = Parser { text, at: 0, nodes, max_values, escaped_names: 0 };
        let result = parser.document();
        let at = parser.at;
        if result.is_err() {
            self.nodes.truncate(start);
        }
        result.map_err(|error| (error, at))
    }

    /// The value at `id`; `null` for an id of another tape.
    pub fn value(&self, id: NodeId) -> Value<'_, 'a> {
        Value { nodes: &self.nodes, at: id.0 }
    }
}

impl Default for Tape<'_> {
    fn default() -> Self {
        Self::holding(MAX_JSON_VALUES)
    }
}

/// Omits the values.
impl fmt::Debug for Tape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape({} values)", self.nodes.len())
    }
}

impl<'t, 'a> Value<'t, 'a> {
    fn node(self) -> Node<'a> {
        const NULL: Node<'static> = Node { text: "null", kind: NodeKind::Null, end: 0 };
        usize::try_from(self.at).ok().and_then(|at| self.nodes.get(at)).copied().unwrap_or(NULL)
    }

    /// The place of the value on its tape.
    pub fn id(self) -> NodeId {
        NodeId(self.at)
    }

    /// Returns the kind of the value.
    pub fn kind(self) -> Kind {
        match self.node().kind {
            NodeKind::Null => Kind::Null,
            NodeKind::Bool(_) => Kind::Bool,
            NodeKind::Number => Kind::Number,
            NodeKind::String { .. } => Kind::String,
            NodeKind::Array => Kind::Array,
            NodeKind::Object => Kind::Object,
        }
    }

    /// Writes the JSON text exactly as received, including quotes.
    pub fn write_source(self, out: &mut String) {
        let node = self.node();
        work::steps(4 + node.text.len() / 16);
        let quoted = matches!(node.kind, NodeKind::String { .. });
        if quoted {
            out.push('"');
        }
        out.push_str(node.text);
        if quoted {
            out.push('"');
        }
    }

    /// Writes the JSON text without white space between its tokens; scalars and names are as
    /// received.
    pub fn write_compact(self, out: &mut String) {
        match self.kind() {
            Kind::Object => {
                let mut separator = '{';
                for (name, value) in self.members().into_iter().flatten() {
                    out.push(separator);
                    separator = ',';
                    out.push('"');
                    out.push_str(name.source());
                    out.push_str("\":");
                    value.write_compact(out);
                }
                out.push_str(if separator == '{' { "{}" } else { "}" });
            }
            Kind::Array => {
                let mut separator = '[';
                for element in self.elements().into_iter().flatten() {
                    out.push(separator);
                    separator = ',';
                    element.write_compact(out);
                }
                out.push_str(if separator == '[' { "[]" } else { "]" });
            }
            _ => self.write_source(out),
        }
    }

    /// A string.
    pub fn as_text(self) -> Option<Text<'a>> {
        let node = self.node();
        match node.kind {
            NodeKind::String { escaped } => Some(Text { raw: node.text, escaped }),
            _ => None,
        }
    }

    /// A string with its escapes resolved.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.as_text().map(Text::unescape)
    }

    /// A boolean.
    pub fn as_bool(self) -> Option<bool> {
        match self.node().kind {
            NodeKind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The source text of a number.
    pub fn as_number(self) -> Option<&'a str> {
        let node = self.node();
        (node.kind == NodeKind::Number).then_some(node.text)
    }

    /// A number as a double; always finite.
    pub fn as_f64(self) -> Option<f64> {
        self.as_number()?.parse().ok()
    }

    /// A number written as a non-negative integer.
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    /// The elements of an array.
    pub fn elements(self) -> Option<Elements<'t, 'a>> {
        (self.node().kind == NodeKind::Array).then(|| self.children())
    }

    /// The members of an object, in document order.
    pub fn members(self) -> Option<Members<'t, 'a>> {
        (self.node().kind == NodeKind::Object).then(|| Members(self.children()))
    }

    /// The member with this name in an object.
    pub fn get(self, name: &str) -> Option<Self> {
        self.members()?.find(|(key, _)| key.is(name)).map(|(_, value)| value)
    }

    fn children(self) -> Elements<'t, 'a> {
        Elements { nodes: self.nodes, at: self.at.saturating_add(1), end: self.node().end }
    }
}

impl fmt::Debug for Value<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())
    }
}

/// Iterates over array elements.
#[derive(Clone)]
pub struct Elements<'t, 'a> {
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

/// Iterates over object members.
#[derive(Clone, Debug)]
pub struct Members<'t, 'a>(Elements<'t, 'a>);

impl<'t, 'a> Iterator for Members<'t, 'a> {
    type Item = (Text<'a>, Value<'t, 'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.next()?.as_text()?;
        Some((name, self.0.next()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
