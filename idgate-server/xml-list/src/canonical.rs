//! Canonical XML 1.0 and Exclusive XML Canonicalization 1.0, both without comments. They apply to
//! an element and its content, from which one element may be left out. The scan refused processing
//! instructions and entities before.

use idgate_core::shell::TrustedListError;
use roxmltree::{Attribute, Node, NodeId};

use crate::error::unusable;
use crate::limits::MAX_CANONICAL_BYTES;
use crate::names::{self, ns};

/// The method, which decides the namespaces in the output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Method {
    /// Writes the namespaces that an element's name and attributes use.
    Exclusive,
    /// Writes all namespaces in force.
    Inclusive,
}

impl Method {
    /// Returns the method with this identifier. `None`: it is not supported, for example a method
    /// that keeps comments.
    pub(crate) fn from_uri(uri: &str) -> Option<Self> {
        match uri {
            names::EXCLUSIVE => Some(Self::Exclusive),
            names::INCLUSIVE => Some(Self::Inclusive),
            _ => None,
        }
    }

    /// Returns the canonical form of `apex` and its content, without `left_out`.
    pub(crate) fn apply(
        self,
        apex: Node<'_, '_>,
        left_out: Option<NodeId>,
    ) -> Result<String, TrustedListError> {
        let source = apex.document().input_text();
        let mut writer =
            Writer { method: self, source, left_out, rendered: Vec::new(), out: String::new() };
        let inherited = match self {
            Self::Inclusive => inherited_attributes(apex),
            Self::Exclusive => Vec::new(),
        };
        writer.element(apex, inherited)?;
        Ok(writer.out)
    }
}

/// Returns the `xml:` attributes that an apex inherits from its ancestors (Canonical XML 1.0, 2.4).
fn inherited_attributes<'a, 'i>(apex: Node<'a, 'i>) -> Vec<Attribute<'a, 'i>> {
    let mut found: Vec<Attribute<'a, 'i>> = Vec::new();
    for around in apex.ancestors().skip(1) {
        for attribute in around.attributes().filter(|one| one.namespace() == Some(ns::XML)) {
            let is_known = apex.has_attribute((ns::XML, attribute.name()))
                || found.iter().any(|known| known.name() == attribute.name());
            if !is_known {
                found.push(attribute);
            }
        }
    }
    found
}

struct Writer<'a, 'i> {
    method: Method,
    source: &'i str,
    left_out: Option<NodeId>,
    /// The namespaces in force in the output with their prefixes, the innermost last.
    rendered: Vec<(&'a str, &'a str)>,
    out: String,
}

impl<'a, 'i: 'a> Writer<'a, 'i> {
    fn element(
        &mut self,
        element: Node<'a, 'i>,
        inherited: Vec<Attribute<'a, 'i>>,
    ) -> Result<(), TrustedListError> {
        let name = self.name(element);
        let before = self.rendered.len();
        self.out.push('<');
        self.out.push_str(name);
        self.namespaces(element, name)?;
        self.attributes(element, inherited)?;
        self.out.push('>');
        let left_out = self.left_out;
        for child in element.children().filter(|child| Some(child.id()) != left_out) {
            if child.is_element() {
                self.element(child, Vec::new())?;
            } else if child.is_text() {
                push_text(&mut self.out, child.text().unwrap_or_default());
                self.check_size()?;
            }
        }
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
        self.rendered.truncate(before);
        self.check_size()
    }

    /// Checks the size. It runs after each part, because a part may be almost as long as the list.
    fn check_size(&self) -> Result<(), TrustedListError> {
        match self.out.len() > MAX_CANONICAL_BYTES {
            true => Err(unusable("has a canonical form of more than 32 MiB")),
            false => Ok(()),
        }
    }

    /// Returns the name of an element with its prefix, from the source.
    fn name(&self, element: Node<'a, 'i>) -> &'a str {
        let tag =
            self.source.get(element.range()).and_then(|text| text.get(1..)).unwrap_or_default();
        tag.split(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'))
            .next()
            .unwrap_or_default()
    }

    fn namespaces(&mut self, element: Node<'a, 'i>, name: &'a str) -> Result<(), TrustedListError> {
        let mut needed = match self.method {
            Method::Exclusive => self.used(element, name),
            Method::Inclusive => in_force(element),
        };
        needed.sort_unstable();
        needed.dedup();
        for (prefix, uri) in needed {
            if self.in_output(prefix) == uri {
                continue;
            }
            self.rendered.push((prefix, uri));
            self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            self.out.push_str(prefix);
            push_value(&mut self.out, uri);
            self.check_size()?;
        }
        Ok(())
    }

    /// Returns the namespaces of the prefixes of an element and its attributes.
    fn used(&self, element: Node<'a, 'i>, name: &'a str) -> Vec<(&'a str, &'a str)> {
        let own = prefix_of(name).unwrap_or_default();
        let of_attributes = element.attributes().filter_map(|one| prefix_of(self.qname(one)));
        let prefixes = [own].into_iter().chain(of_attributes).filter(|prefix| *prefix != "xml");
        let with_uri = |prefix: &'a str| {
            let asked = (!prefix.is_empty()).then_some(prefix);
            (prefix, element.lookup_namespace_uri(asked).unwrap_or_default())
        };
        prefixes.map(with_uri).collect()
    }

    /// Returns the namespace of a prefix in the output so far.
    fn in_output(&self, prefix: &str) -> &'a str {
        let found = self.rendered.iter().rev().find(|(known, _)| *known == prefix);
        found.map_or("", |(_, uri)| uri)
    }

    fn attributes(
        &mut self,
        element: Node<'a, 'i>,
        inherited: Vec<Attribute<'a, 'i>>,
    ) -> Result<(), TrustedListError> {
        let mut attributes = inherited;
        attributes.extend(element.attributes());
        attributes.sort_by_key(|one| (one.namespace().unwrap_or_default(), one.name()));
        for attribute in attributes {
            self.out.push(' ');
            self.out.push_str(self.qname(attribute));
            push_value(&mut self.out, attribute.value());
            self.check_size()?;
        }
        Ok(())
    }

    fn qname(&self, attribute: Attribute<'a, 'i>) -> &'a str {
        self.source.get(attribute.range_qname()).unwrap_or_default()
    }
}

fn prefix_of(name: &str) -> Option<&str> {
    name.split_once(':').map(|(prefix, _)| prefix)
}

/// Returns all namespaces in force at an element, by prefix.
fn in_force<'a>(element: Node<'a, '_>) -> Vec<(&'a str, &'a str)> {
    let known = element.namespaces().map(|one| (one.name().unwrap_or_default(), one.uri()));
    known.filter(|(prefix, _)| *prefix != "xml").collect()
}

fn push_text(out: &mut String, text: &str) {
    for part in text.split_inclusive(['&', '<', '>', '\r']) {
        push_escaped(out, part, |last| match last {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '\r' => Some("&#xD;"),
            _ => None,
        });
    }
}

fn push_value(out: &mut String, value: &str) {
    out.push_str("=\"");
    for part in value.split_inclusive(['&', '<', '"', '\t', '\n', '\r']) {
        push_escaped(out, part, |last| match last {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '"' => Some("&quot;"),
            '\t' => Some("&#x9;"),
            '\n' => Some("&#xA;"),
            '\r' => Some("&#xD;"),
            _ => None,
        });
    }
    out.push('"');
}

/// Writes a part of a text. Only its last character may need escaping.
fn push_escaped(out: &mut String, part: &str, escaped: impl Fn(char) -> Option<&'static str>) {
    match part.chars().next_back().and_then(|last| Some((last, escaped(last)?))) {
        Some((last, escaped)) => {
            out.push_str(part.strip_suffix(last).unwrap_or_default());
            out.push_str(escaped);
        }
        None => out.push_str(part),
    }
}
