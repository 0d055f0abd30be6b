//! The parser: one pass over the bytes, no recursion beyond [`MAX_DEPTH`], and no allocation sized
//! by a claimed length, only by items that are there.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{CborError, Entries, Node, NodeId, NodeKind, Value, content};
use crate::codec::duplicates;
use crate::limits::MAX_DEPTH;
use crate::work;

pub(super) struct Parser<'p, 'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: &'p mut Vec<Node<'a>>,
    max_nodes: usize,
    /// Chunks of strings in this document; they count as nodes.
    chunks: usize,
}

/// The head of an item (RFC 8949 3).
struct Head {
    major: u8,
    /// `None`: indefinite length, or the break.
    argument: Option<u64>,
    /// The low five bits of the first byte.
    info: u8,
}

const BREAK: u8 = 0xff;
const BYTES: u8 = 2;
const TEXT: u8 = 3;

impl<'p, 'a> Parser<'p, 'a> {
    pub(super) fn new(bytes: &'a [u8], nodes: &'p mut Vec<Node<'a>>, max_nodes: usize) -> Self {
        Self { bytes, at: 0, nodes, max_nodes, chunks: 0 }
    }

    pub(super) fn document(mut self) -> Result<NodeId, CborError> {
        let id = self.next_id()?;
        self.item(0)?;
        if self.at == self.bytes.len() { Ok(NodeId(id)) } else { Err(CborError::TrailingBytes) }
    }

    fn next_id(&self) -> Result<u32, CborError> {
        u32::try_from(self.nodes.len()).map_err(|_| CborError::Syntax)
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn head(&mut self) -> Result<Head, CborError> {
        work::steps(6);
        let (first, rest) = self.rest().split_first().ok_or(CborError::Syntax)?;
        let (major, info) = (first >> 5, first & 0x1f);
        let (argument, extra) = match info {
            0..=23 => (Some(u64::from(info)), 0),
            24 => (Some(big_endian::<1>(rest)?), 1),
            25 => (Some(big_endian::<2>(rest)?), 2),
            26 => (Some(big_endian::<4>(rest)?), 4),
            27 => (Some(big_endian::<8>(rest)?), 8),
            28..=30 => return Err(CborError::Syntax),
            _ => (None, 0),
        };
        self.at += 1 + extra;
        Ok(Head { major, argument, info })
    }

    fn leaf(&mut self, start: usize, kind: NodeKind, argument: u64) -> Result<(), CborError> {
        if self.nodes.len() >= self.max_nodes {
            return Err(CborError::TooMany);
        }
        work::steps(8);
        let end = self.next_id()?.checked_add(1).ok_or(CborError::Syntax)?;
        let raw = self.bytes.get(start..self.at).ok_or(CborError::Syntax)?;
        // A head has at most nine bytes.
        let head = u8::try_from(raw.len()).unwrap_or(u8::MAX);
        self.nodes.push(Node { raw, argument, end, kind, head });
        Ok(())
    }

    fn item(&mut self, depth: usize) -> Result<(), CborError> {
        let start = self.at;
        let head = self.head()?;
        match (head.major, head.argument) {
            (0, Some(n)) => self.leaf(start, NodeKind::Unsigned, n),
            (1, Some(n)) => self.leaf(start, NodeKind::Negative, n),
            (BYTES | TEXT, Some(len)) => self.string(start, head.major, len),
            (BYTES | TEXT, None) => self.chunks(start, head.major),
            (4, count) => self.array(start, count, depth),
            (5, count) => self.map(start, count, depth),
            (6, Some(number)) => self.tag(start, number, depth),
            (7, Some(argument)) => self.simple(start, head.info, argument),
            _ => Err(CborError::Syntax),
        }
    }

    /// Steps over `len` bytes and returns them.
    fn take(&mut self, len: u64) -> Result<&'a [u8], CborError> {
        let len = usize::try_from(len).map_err(|_| CborError::Syntax)?;
        let taken = self.rest().get(..len).ok_or(CborError::Syntax)?;
        self.at += len;
        Ok(taken)
    }

    /// The content of a string or of a chunk of one.
    fn characters(&mut self, major: u8, len: u64) -> Result<&'a [u8], CborError> {
        let content = self.take(len)?;
        work::steps(content.len() / 16);
        if major == TEXT && core::str::from_utf8(content).is_err() {
            return Err(CborError::Utf8);
        }
        Ok(content)
    }

    fn string(&mut self, start: usize, major: u8, len: u64) -> Result<(), CborError> {
        let head = u8::try_from(self.at - start).map_err(|_| CborError::Syntax)?;
        self.characters(major, len)?;
        self.leaf(start, string_kind(major, false), len)?;
        if let Some(node) = self.nodes.last_mut() {
            node.head = head;
        }
        Ok(())
    }

    /// Chunks are definite strings of the same major type (RFC 8949 3.2.3).
    fn chunks(&mut self, start: usize, major: u8) -> Result<(), CborError> {
        while !self.at_break() {
            let head = self.head()?;
            let len = head.argument.filter(|_| head.major == major).ok_or(CborError::Syntax)?;
            self.characters(major, len)?;
            self.chunks += 1;
            if self.chunks > self.max_nodes {
                return Err(CborError::TooMany);
            }
        }
        self.leaf(start, string_kind(major, true), 0)
    }

    /// Steps over a break, if there is one.
    fn at_break(&mut self) -> bool {
        let found = self.rest().first() == Some(&BREAK);
        self.at += usize::from(found);
        found
    }

    /// Opens an item that contains others; [`Parser::close`] completes it.
    fn open(
        &mut self,
        start: usize,
        kind: NodeKind,
        argument: u64,
        depth: usize,
    ) -> Result<usize, CborError> {
        if depth >= MAX_DEPTH {
            return Err(CborError::TooDeep);
        }
        let id = self.nodes.len();
        self.leaf(start, kind, argument)?;
        Ok(id)
    }

    fn close(&mut self, id: usize, start: usize) -> Result<(), CborError> {
        let end = self.next_id()?;
        let raw = self.bytes.get(start..self.at).ok_or(CborError::Syntax)?;
        if let Some(node) = self.nodes.get_mut(id) {
            node.raw = raw;
            node.end = end;
        }
        Ok(())
    }

    fn array(&mut self, start: usize, count: Option<u64>, depth: usize) -> Result<(), CborError> {
        let id = self.open(start, NodeKind::Array, count.unwrap_or(0), depth)?;
        match count {
            Some(count) => {
                self.require(count, 1)?;
                for _ in 0..count {
                    self.item(depth + 1)?;
                }
            }
            None => {
                while !self.at_break() {
                    self.item(depth + 1)?;
                }
            }
        }
        self.close(id, start)
    }

    fn map(&mut self, start: usize, count: Option<u64>, depth: usize) -> Result<(), CborError> {
        let id = self.open(start, NodeKind::Map, count.unwrap_or(0), depth)?;
        match count {
            Some(count) => {
                self.require(count, 2)?;
                for _ in 0..count {
                    self.entry(depth + 1)?;
                }
            }
            None => {
                while !self.at_break() {
                    self.entry(depth + 1)?;
                }
            }
        }
        self.close(id, start)?;
        let at = u32::try_from(id).map_err(|_| CborError::Syntax)?;
        match (Value { nodes: self.nodes, at }).entries() {
            Some(entries) => refuse_duplicates(entries),
            None => Err(CborError::Syntax),
        }
    }

    fn entry(&mut self, depth: usize) -> Result<(), CborError> {
        match self.rest().first() {
            Some(first) if *first >> 5 <= TEXT => self.item(depth)?,
            Some(&BREAK) | None => return Err(CborError::Syntax),
            Some(_) => return Err(CborError::KeyType),
        }
        self.item(depth)
    }

    /// Each of `count` items takes at least `bytes_each`, so an impossible length is refused
    /// immediately.
    fn require(&self, count: u64, bytes_each: u64) -> Result<(), CborError> {
        let left = u64::try_from(self.rest().len()).unwrap_or(u64::MAX);
        if count > left / bytes_each { Err(CborError::Syntax) } else { Ok(()) }
    }

    fn tag(&mut self, start: usize, number: u64, depth: usize) -> Result<(), CborError> {
        let id = self.open(start, NodeKind::Tag, number, depth)?;
        self.item(depth + 1)?;
        self.close(id, start)
    }

    /// RFC 8949 3.3; a simple value below 32 in two bytes is not well-formed.
    fn simple(&mut self, start: usize, info: u8, argument: u64) -> Result<(), CborError> {
        match info {
            24 if argument < 32 => Err(CborError::Syntax),
            0..=24 => self.leaf(start, NodeKind::Simple, argument),
            _ => self.leaf(start, NodeKind::Float, double(info, argument).to_bits()),
        }
    }
}

fn string_kind(major: u8, chunked: bool) -> NodeKind {
    if major == TEXT { NodeKind::Text { chunked } } else { NodeKind::Bytes { chunked } }
}

fn big_endian<const N: usize>(bytes: &[u8]) -> Result<u64, CborError> {
    let bytes = bytes.first_chunk::<N>().ok_or(CborError::Syntax)?;
    Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}

/// The value of a float of 16, 32 or 64 bits, by its additional information.
fn double(info: u8, bits: u64) -> f64 {
    match info {
        25 => half(u16::try_from(bits).unwrap_or_default()),
        26 => f64::from(f32::from_bits(u32::try_from(bits).unwrap_or_default())),
        _ => f64::from_bits(bits),
    }
}

/// RFC 8949 appendix D.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (bits >> 10 & 0x1f, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (mantissa + 1024.0) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The chunks of an indefinite-length string that the parser accepted.
pub(super) struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// From the whole string, head and break included.
    pub(super) fn of(raw: &'a [u8]) -> Self {
        Self { rest: raw.get(1..).unwrap_or_default() }
    }

    pub(super) fn join(self) -> Vec<u8> {
        let mut joined = Vec::with_capacity(self.rest.len());
        self.for_each(|chunk| joined.extend_from_slice(chunk));
        joined
    }

    /// Whether the chunks together equal `other`. It stops at the first difference and joins
    /// nothing, because untrusted keys are compared with many others.
    pub(super) fn is(mut self, other: &[u8]) -> bool {
        let left = self.try_fold(other, |left, chunk| left.strip_prefix(chunk));
        left.is_some_and(<[u8]>::is_empty)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let mut nodes = Vec::new();
        let mut parser = Parser::new(self.rest, &mut nodes, 0);
        if parser.at_break() {
            return None;
        }
        let len = parser.head().ok()?.argument?;
        let chunk = parser.take(len).ok()?;
        let at = parser.at;
        self.rest = self.rest.get(at..).unwrap_or_default();
        Some(chunk)
    }
}

/// Compares keys pairwise in small maps, sorted in large ones: never quadratic.
fn refuse_duplicates(entries: Entries<'_, '_>) -> Result<(), CborError> {
    const FEW: usize = 8;
    let mut seen: [Option<Node<'_>>; FEW] = [None; FEW];
    for (count, (key, _)) in entries.clone().enumerate() {
        // A key in chunks is joined once there, not for each comparison.
        let slot = seen.get_mut(count).filter(|_| !key.is_chunked());
        let Some(slot) = slot else { return refuse_sorted_duplicates(entries) };
        let key = *slot.insert(key.node());
        if seen.iter().take(count).flatten().any(|earlier| same_key(earlier, &key)) {
            return Err(CborError::DuplicateKey);
        }
    }
    Ok(())
}

/// Compares two keys, neither in chunks. Most differ in kind or length already.
fn same_key(one: &Node<'_>, other: &Node<'_>) -> bool {
    work::comparison(if one.argument == other.argument { one.raw.len() } else { 0 });
    one.kind == other.kind
        && one.argument == other.argument
        && match one.kind {
            NodeKind::Bytes { .. } | NodeKind::Text { .. } => {
                content(one, false) == content(other, false)
            }
            _ => true,
        }
}

/// Ascending keys, which are common for digests, need no sorting.
fn refuse_sorted_duplicates(entries: Entries<'_, '_>) -> Result<(), CborError> {
    let Some((first, _)) = entries.clone().next() else { return Ok(()) };
    let (mut keys, mut ascending, mut last) = (Vec::new(), true, None);
    for (key, _) in entries {
        let (kind, head) = kind_and_head(&key.node());
        ascending = ascending && last < Some((kind, head));
        last = Some((kind, head));
        keys.push((head, key.at));
    }
    let whole = |at: u32| {
        let node = Value { at, ..first }.node();
        (kind_and_head(&node), string(&node).unwrap_or_default())
    };
    let twice = !ascending && duplicates::any(keys, whole);
    if twice { Err(CborError::DuplicateKey) } else { Ok(()) }
}

/// The major type of a key, because keys of different kinds are different; and an integer, which is
/// the same key in a longer head, or the first bytes of a string.
fn kind_and_head(key: &Node<'_>) -> (u8, u64) {
    let head = || duplicates::head(&string(key).unwrap_or_default());
    match key.kind {
        NodeKind::Unsigned => (0, key.argument),
        NodeKind::Negative => (1, key.argument),
        NodeKind::Bytes { .. } => (BYTES, head()),
        _ => (TEXT, head()),
    }
}

fn string<'a>(node: &Node<'a>) -> Option<Cow<'a, [u8]>> {
    match node.kind {
        NodeKind::Bytes { chunked } | NodeKind::Text { chunked } => Some(content(node, chunked)),
        _ => None,
    }
}
