//! Checks the text of a list before it is parsed: its size, its encoding, and the number of its
//! parts. Names and namespaces are resolved only in a text that passes.

use idgate_core::limits::MAX_XML_LIST_BYTES;
use idgate_core::shell::TrustedListError;

use crate::error::unusable;
use crate::limits::{
    MAX_ATTRIBUTES, MAX_DEPTH, MAX_NAME_BYTES, MAX_NAMESPACE_BYTES, MAX_NAMESPACES, MAX_NODES,
};

/// Returns the text of a list if it is acceptable XML: UTF-8, without DTD and processing
/// instructions, and within the limits.
pub(crate) fn checked(file: &[u8]) -> Result<&str, TrustedListError> {
    if file.len() > MAX_XML_LIST_BYTES {
        return Err(unusable("is larger than 16 MiB"));
    }
    let text = std::str::from_utf8(file).map_err(|_| unusable("is XML that is not in UTF-8"))?;
    let mut rest = after_declaration(text)?;
    let mut shape = Shape::default();
    while let Some((_, markup)) = rest.split_once('<') {
        rest = shape.markup(markup)?;
    }
    Ok(text)
}

/// Returns the text after the XML declaration, which may be absent.
fn after_declaration(text: &str) -> Result<&str, TrustedListError> {
    let declaration = text.strip_prefix("<?xml");
    // The name of a processing instruction may also begin with `xml`.
    let is_whole_name = |rest: &&str| rest.starts_with([' ', '\t', '\r', '\n']);
    let Some(declaration) = declaration.filter(is_whole_name) else { return Ok(text) };
    let (own, rest) = declaration.split_once("?>").ok_or_else(unfinished)?;
    let value = |name: &str| {
        let (_, value) = own.split_once(name)?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value.get(1..)?.split_once(quote).map(|(value, _)| value)
    };
    if value("version") != Some("1.0") {
        return Err(unusable("is XML of a version other than 1.0"));
    }
    let is_utf_8 = value("encoding").is_some_and(|name| name.eq_ignore_ascii_case("UTF-8"));
    if own.contains("encoding") && !is_utf_8 {
        return Err(unusable("is XML that is not in UTF-8"));
    }
    Ok(rest)
}

/// The counts so far.
#[derive(Default)]
struct Shape {
    nodes: u32,
    /// The number of declarations of namespaces of each open element.
    open: Vec<usize>,
    namespaces: usize,
}

impl Shape {
    /// Checks the markup after a `<`. Returns the text after its end.
    fn markup<'t>(&mut self, markup: &'t str) -> Result<&'t str, TrustedListError> {
        // The markup, and the text before it.
        self.count(2)?;
        let after = |text: &'t str, end: &str| text.split_once(end).map(|(_, rest)| rest);
        let rest = if let Some(comment) = markup.strip_prefix("!--") {
            after(comment, "-->")
        } else if let Some(text) = markup.strip_prefix("![CDATA[") {
            after(text, "]]>")
        } else if markup.starts_with('!') {
            return Err(unusable("has a document type declaration (DTD)"));
        } else if markup.starts_with('?') {
            return Err(unusable("has a processing instruction"));
        } else if let Some(tag) = markup.strip_prefix('/') {
            self.close();
            after(tag, ">")
        } else {
            return self.tag(markup);
        };
        rest.ok_or_else(unfinished)
    }

    fn tag<'t>(&mut self, markup: &'t str) -> Result<&'t str, TrustedListError> {
        let end = end_of_tag(markup);
        let (tag, rest) =
            end.and_then(|end| markup.split_at_checked(end)).ok_or_else(unfinished)?;
        let attributes = bounded_attributes(tag)?;
        if attributes > MAX_ATTRIBUTES {
            return Err(unusable("has an element with more than 32 attributes"));
        }
        self.count(attributes)?;
        self.open(tag.matches("xmlns").count())?;
        if tag.ends_with('/') {
            self.close();
        }
        Ok(rest)
    }

    fn open(&mut self, namespaces: usize) -> Result<(), TrustedListError> {
        self.open.push(namespaces);
        self.namespaces = self.namespaces.saturating_add(namespaces);
        if self.open.len() > MAX_DEPTH {
            return Err(unusable("has elements more than 40 deep"));
        }
        if self.namespaces > MAX_NAMESPACES {
            return Err(unusable("declares more than 32 namespaces at one place"));
        }
        Ok(())
    }

    fn close(&mut self) {
        self.namespaces = self.namespaces.saturating_sub(self.open.pop().unwrap_or_default());
    }

    fn count(&mut self, more: u32) -> Result<(), TrustedListError> {
        self.nodes = self.nodes.saturating_add(more);
        match self.nodes > MAX_NODES {
            true => Err(unusable("has more than 524288 elements, texts and attributes")),
            false => Ok(()),
        }
    }
}

/// Returns the position of the `>` that ends a tag. Values of attributes may contain `>` too.
fn end_of_tag(markup: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the number of attributes of a tag. Checks the lengths of names and namespaces, because
/// the parser compares them again for each element and attribute.
fn bounded_attributes(tag: &str) -> Result<u32, TrustedListError> {
    let (mut rest, mut attributes) = (tag, 0_u32);
    loop {
        let (names, quoted) = rest.split_at(rest.find(['"', '\'']).unwrap_or(rest.len()));
        let between = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let mut last = "";
        for name in names.split(between).filter(|name| !name.is_empty()) {
            if name.len() > MAX_NAME_BYTES {
                return Err(unusable("has a name of more than 128 bytes"));
            }
            last = name;
        }
        let Some(quote) = quoted.chars().next() else { return Ok(attributes) };
        let value = quoted.strip_prefix(quote).and_then(|value| value.split_once(quote));
        let (value, after) = value.ok_or_else(unfinished)?;
        let is_namespace = last == "xmlns" || last.starts_with("xmlns:");
        if is_namespace && value.len() > MAX_NAMESPACE_BYTES {
            return Err(unusable("has a namespace of more than 256 bytes"));
        }
        attributes = attributes.saturating_add(1);
        rest = after;
    }
}

fn unfinished() -> TrustedListError {
    unusable("is not well-formed XML: it ends too early")
}
