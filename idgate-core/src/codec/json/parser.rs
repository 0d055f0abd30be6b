//! The parser: one pass over the text, no recursion, no nesting beyond [`MAX_DEPTH`].

use alloc::vec::Vec;

use super::number::{is_finite, parse_exponent};
use super::text::hex_digit;
use super::{JsonError, Members, Node, NodeId, NodeKind, Text, Value};
use crate::codec::duplicates;
use crate::limits::{MAX_DEPTH, MAX_ESCAPED_NAME_BYTES};
use crate::work;

pub(super) struct Parser<'p, 'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) nodes: &'p mut Vec<Node<'a>>,
    pub(super) max_values: usize,
    /// Bytes in names with escapes so far.
    pub(super) escaped_names: usize,
}

/// A container that is not closed yet.
#[derive(Clone, Copy)]
struct Open {
    /// Its node.
    id: usize,
    /// Where it begins.
    start: usize,
    is_object: bool,
}

impl Open {
    fn kind(&self) -> NodeKind {
        if self.is_object { NodeKind::Object } else { NodeKind::Array }
    }

    fn close(&self) -> u8 {
        if self.is_object { b'}' } else { b']' }
    }
}

impl<'a> Parser<'_, 'a> {
    pub(super) fn document(&mut self) -> Result<NodeId, JsonError> {
        let id = self.next_id()?;
        self.value()?;
        self.skip_space();
        if self.at == self.text.len() { Ok(NodeId(id)) } else { Err(JsonError::Syntax) }
    }

    fn next_id(&self) -> Result<u32, JsonError> {
        u32::try_from(self.nodes.len()).map_err(|_| JsonError::Syntax)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        work::steps(self.at - start);
    }

    fn consume(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(JsonError::Syntax)
    }

    fn since(&self, start: usize) -> Result<&'a str, JsonError> {
        self.text.get(start..self.at).ok_or(JsonError::Syntax)
    }

    fn leaf(&mut self, text: &'a str, kind: NodeKind) -> Result<(), JsonError> {
        if self.nodes.len() >= self.max_values {
            return Err(JsonError::TooMany);
        }
        // A value, and each of its characters.
        work::steps(8 + text.len());
        let end = self.next_id()?.checked_add(1).ok_or(JsonError::Syntax)?;
        self.nodes.push(Node { text, kind, end });
        Ok(())
    }

    /// A value with its content. Open containers are on a list and not on the call stack, so that
    /// nested text costs the same as flat text.
    fn value(&mut self) -> Result<(), JsonError> {
        let mut open = [Open { id: 0, start: 0, is_object: false }; MAX_DEPTH];
        let mut depth = 0;
        loop {
            self.skip_space();
            let next = self.peek();
            if let Some(b'{' | b'[') = next {
                let is_object = next == Some(b'{');
                let slot = open.get_mut(depth).ok_or(JsonError::TooDeep)?;
                *slot = Open { id: self.nodes.len(), start: self.at, is_object };
                depth += 1;
                self.leaf("", slot.kind())?;
                self.at += 1;
                self.skip_space();
                if self.peek() != Some(slot.close()) {
                    if is_object {
                        self.member()?;
                    }
                    continue;
                }
            } else {
                self.scalar(next)?;
            }
            loop {
                let Some(top) = depth.checked_sub(1).and_then(|top| open.get(top)) else {
                    return Ok(());
                };
                self.skip_space();
                let next = self.peek();
                self.at += 1;
                if next == Some(top.close()) {
                    self.close(top)?;
                    depth -= 1;
                } else if next == Some(b',') {
                    if top.is_object {
                        self.skip_space();
                        self.member()?;
                    }
                    break;
                } else {
                    self.at = self.at.saturating_sub(1);
                    return Err(JsonError::Syntax);
                }
            }
        }
    }

    fn scalar(&mut self, first: Option<u8>) -> Result<(), JsonError> {
        match first {
            Some(b'"') => self.string(),
            Some(b't') => self.word("true", NodeKind::Bool(true)),
            Some(b'f') => self.word("false", NodeKind::Bool(false)),
            Some(b'n') => self.word("null", NodeKind::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(JsonError::Syntax),
        }
    }

    fn word(&mut self, word: &str, kind: NodeKind) -> Result<(), JsonError> {
        let start = self.at;
        if !self.text.as_bytes().get(start..).is_some_and(|rest| rest.starts_with(word.as_bytes()))
        {
            return Err(JsonError::Syntax);
        }
        self.at += word.len();
        let text = self.since(start)?;
        self.leaf(text, kind)
    }

    /// The name of a member, and the colon.
    fn member(&mut self) -> Result<(), JsonError> {
        self.name()?;
        self.skip_space();
        self.consume(b':')
    }

    fn close(&mut self, open: &Open) -> Result<(), JsonError> {
        let (text, end) = (self.since(open.start)?, self.next_id()?);
        if let Some(node) = self.nodes.get_mut(open.id) {
            *node = Node { text, kind: open.kind(), end };
        }
        if open.is_object { self.refuse_duplicates(open.id) } else { Ok(()) }
    }

    fn name(&mut self) -> Result<(), JsonError> {
        self.string()?;
        if let Some(Node { kind: NodeKind::String { escaped: true }, text, .. }) = self.nodes.last()
        {
            self.escaped_names = self.escaped_names.saturating_add(text.len());
            if self.escaped_names > MAX_ESCAPED_NAME_BYTES {
                return Err(JsonError::TooMany);
            }
        }
        Ok(())
    }

    /// Compares names pairwise in small objects, sorted in large ones: never quadratic.
    fn refuse_duplicates(&self, object: usize) -> Result<(), JsonError> {
        const FEW: usize = 16;
        // The object, a name and a value: there is nothing to compare.
        if self.nodes.len() - object <= 3 {
            return Ok(());
        }
        let at = u32::try_from(object).map_err(|_| JsonError::Syntax)?;
        let object = Value { nodes: self.nodes, at };
        let Some(members) = object.members() else { return Ok(()) };
        let mut first = [""; FEW];
        for (count, (name, _)) in members.clone().enumerate() {
            let Some(name) = name.plain() else { return refuse_sorted_duplicates(members) };
            let Some(slot) = first.get_mut(count) else {
                return refuse_sorted_duplicates(members);
            };
            *slot = name;
            let is_name = |earlier: &&str| {
                work::comparison(if earlier.len() == name.len() { name.len() } else { 0 });
                *earlier == name
            };
            if first.iter().take(count).any(is_name) {
                return Err(JsonError::DuplicateName);
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.consume(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..=0x1f) | None => return Err(JsonError::Syntax),
                Some(_) => self.at += 1,
            }
        }
        let text = self.since(start)?;
        self.at += 1;
        self.leaf(text, NodeKind::String { escaped })
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let kind = self.peek().ok_or(JsonError::Syntax)?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => match self.hex4()? {
                0xd800..=0xdbff => {
                    self.consume(b'\\')?;
                    self.consume(b'u')?;
                    let low = self.hex4()?;
                    if (0xdc00..=0xdfff).contains(&low) { Ok(()) } else { Err(JsonError::Syntax) }
                }
                0xdc00..=0xdfff => Err(JsonError::Syntax),
                _ => Ok(()),
            },
            _ => Err(JsonError::Syntax),
        }
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let start = self.at;
        self.at += 4;
        let digits = self.since(start)?.bytes();
        let mut value = 0;
        for digit in digits {
            value = value << 4 | u32::from(hex_digit(digit).ok_or(JsonError::Syntax)?);
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let (whole, point) = (self.at - start, self.at);
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let fraction = self.since(point)?;
        let mut exponent = 0;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let signed = self.at;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
            exponent = parse_exponent(self.since(signed)?.as_bytes());
        }
        let text = self.since(start)?;
        // A number needs 309 digits before the point to exceed the range.
        let digits = exponent.saturating_add(i64::try_from(whole).unwrap_or(i64::MAX));
        if digits >= 309 && !is_finite(text.get(..whole).unwrap_or_default(), fraction, exponent) {
            return Err(JsonError::NumberRange);
        }
        self.leaf(text, NodeKind::Number)
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        if digits > 0 { Ok(()) } else { Err(JsonError::Syntax) }
    }
}

fn refuse_sorted_duplicates(members: Members<'_, '_>) -> Result<(), JsonError> {
    let Some((_, first)) = members.clone().next() else { return Ok(()) };
    let name = |at: u32| Value { at, ..first }.as_str().unwrap_or_default();
    // A name precedes its value.
    let named = |(name, value): (Text<'_>, Value<'_, '_>)| {
        (duplicates::head(name.unescape().as_bytes()), value.at.saturating_sub(1))
    };
    let twice = duplicates::any(members.map(named).collect(), name);
    if twice { Err(JsonError::DuplicateName) } else { Ok(()) }
}
