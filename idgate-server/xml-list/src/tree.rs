//! Functions on a tree of XML that both readers use.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idgate_core::shell::TrustedListError;
use roxmltree::{Document, Node, ParsingOptions};

use crate::error::unusable;
use crate::limits::{MAX_EQUALS_SIGNS, MAX_EXPLAINED, MAX_NODES};

/// Parses a text that was scanned before.
pub(crate) fn parsed(text: &str) -> Result<Document<'_>, TrustedListError> {
    check_room(text)?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    Document::parse_with_options(text, options).map_err(|why| {
        // The reason quotes names from the list, so only its beginning is shown.
        let why = why.to_string();
        let why: String = why.chars().filter(|c| !c.is_control()).take(MAX_EXPLAINED).collect();
        unusable(format!("is not well-formed XML: {why}"))
    })
}

/// Checks the number of `<` and `=`. Before it reads, the parser reserves room for a node for each
/// `<` and for an attribute for each `=`, even if they are ordinary text.
fn check_room(text: &str) -> Result<(), TrustedListError> {
    if text.matches('=').count() > MAX_EQUALS_SIGNS {
        return Err(unusable("has more than 1000000 = characters"));
    }
    let most = usize::try_from(MAX_NODES).unwrap_or(usize::MAX);
    match text.matches('<').count() > most {
        true => Err(unusable("has more than 524288 < characters")),
        false => Ok(()),
    }
}

/// Returns the child elements of an element.
pub(crate) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// Returns the first child element with this name.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, ns: &str, name: &str) -> Option<Node<'a, 'i>> {
    elements(node).find(|one| one.has_tag_name((ns, name)))
}

/// Returns the text of an element that contains nothing else, without surrounding white space.
pub(crate) fn text<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let mut children = node.children();
    match (children.next(), children.next()) {
        (None, _) => Some(""),
        (Some(only), None) if only.is_text() => Some(only.text().unwrap_or_default().trim()),
        _ => None,
    }
}

/// Decodes the Base64 text of an element, which may contain line breaks.
pub(crate) fn base64(node: Node<'_, '_>) -> Option<Vec<u8>> {
    let text: String = text(node)?.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}
