//! A JSON string: the source between the quotes, escapes resolved on demand (RFC 8259 7).

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use crate::work;

/// A JSON string as written in the source.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub(super) raw: &'a str,
    pub(super) escaped: bool,
}

impl<'a> Text<'a> {
    /// Whether the string with its escapes resolved equals `other`.
    pub fn is(self, other: &str) -> bool {
        if !self.escaped {
            work::comparison(if self.raw.len() == other.len() { other.len() } else { 0 });
            return self.raw == other;
        }
        // An escape takes at most six bytes for at least one; most names already differ in length.
        let (least, most) = (self.raw.len() / 6, self.raw.len());
        (least..most).contains(&other.len()) && Unescaped { rest: self.raw }.is(other)
    }

    /// The string with its escapes resolved.
    pub fn unescape(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// The source text between the quotes, if it has no escapes.
    pub fn plain(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.raw)
    }

    /// The source text between the quotes, including escapes.
    pub fn source(self) -> &'a str {
        self.raw
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
    }
}

/// Resolves the escapes of a string that the parser accepted.
fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for piece in (Unescaped { rest: raw }) {
        match piece {
            Piece::Plain(text) => out.push_str(text),
            Piece::Escaped(c) => out.push(c),
        }
    }
    out
}

/// A part of a string: text without escapes, or a character from an escape.
enum Piece<'a> {
    Plain(&'a str),
    Escaped(char),
}

/// The parts of a string that the parser accepted.
struct Unescaped<'a> {
    rest: &'a str,
}

impl Unescaped<'_> {
    /// Whether the parts together equal `other`. It stops at the first difference and allocates
    /// nothing, because untrusted member names are compared with many others.
    fn is(self, other: &str) -> bool {
        let mut left = other;
        for piece in self {
            let rest = match piece {
                Piece::Plain(text) => left.strip_prefix(text),
                Piece::Escaped(c) => left.strip_prefix(c),
            };
            match rest {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        left.is_empty()
    }
}

impl<'a> Iterator for Unescaped<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(escape) = self.rest.strip_prefix('\\') else {
            let end = self.rest.find('\\').unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            work::steps(2 + plain.len() / 16);
            return (!plain.is_empty()).then_some(Piece::Plain(plain));
        };
        let mut chars = escape.chars();
        let kind = chars.next()?;
        work::steps(6);
        self.rest = chars.as_str();
        Some(Piece::Escaped(match kind {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.code_point(),
            other => other,
        }))
    }
}

impl Unescaped<'_> {
    /// After `\u`: four digits, or a pair of surrogates.
    fn code_point(&mut self) -> char {
        let Some((high, rest)) = hex(self.rest) else { return char::REPLACEMENT_CHARACTER };
        self.rest = rest;
        let pair = rest.strip_prefix("\\u").and_then(hex);
        let code = match pair {
            Some((low, rest)) if (0xd800..0xdc00).contains(&high) => {
                self.rest = rest;
                0x1_0000 + ((high - 0xd800) << 10) + (low.saturating_sub(0xdc00))
            }
            _ => high,
        };
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn hex(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let push = |value, digit| Some(value << 4 | u32::from(hex_digit(digit)?));
    Some((digits.bytes().try_fold(0, push)?, rest))
}

/// The value of one hexadecimal digit.
pub(super) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
