//! A JSON string: the source between the quotes, escapes resolved on demand (RFC 8259 7).

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

/// A JSON string as it stands in the source.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub(super) raw: &'a str,
    pub(super) escaped: bool,
}

impl<'a> Text<'a> {
    /// Whether the string, escapes resolved, is `other`.
    pub fn is(self, other: &str) -> bool {
        if self.escaped { self.unescape() == other } else { self.raw == other }
    }

    /// The string with its escapes resolved.
    pub fn unescape(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// The source text between the quotes when it has no escapes.
    pub fn plain(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.raw)
    }

    /// The source text between the quotes, escapes and all.
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
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (kind, tail) = after.split_at_checked(1).unwrap_or((after, ""));
        rest = tail;
        match kind {
            "b" => out.push('\u{8}'),
            "f" => out.push('\u{c}'),
            "n" => out.push('\n'),
            "r" => out.push('\r'),
            "t" => out.push('\t'),
            "u" => rest = push_code_point(rest, &mut out),
            other => out.push_str(other),
        }
    }
    out.push_str(rest);
    out
}

fn push_code_point<'a>(text: &'a str, out: &mut String) -> &'a str {
    let hex = |text: &'a str| {
        let (digits, rest) = text.split_at_checked(4)?;
        Some((u32::from_str_radix(digits, 16).ok()?, rest))
    };
    let Some((high, rest)) = hex(text) else { return text };
    let pair = rest.strip_prefix("\\u").and_then(hex);
    match pair {
        Some((low, rest)) if (0xd800..0xdc00).contains(&high) => {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (low.saturating_sub(0xdc00));
            out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest
        }
        _ => {
            out.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest
        }
    }
}
