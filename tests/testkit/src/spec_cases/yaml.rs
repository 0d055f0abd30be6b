//! YAML as a tree that keeps the tag `!sd` on values and on keys.

use serde_json::{Number, Value};
use yaml_rust2::Event;
use yaml_rust2::parser::{EventReceiver, Parser, Tag};
use yaml_rust2::scanner::TScalarStyle;

use crate::spec_cases::SpecError;

/// A value, and whether it has the tag `!sd`.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) marked: bool,
    pub(super) content: Content,
}

/// A mapping key; always text.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) marked: bool,
    pub(super) text: String,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Scalar(Value),
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

impl Node {
    /// The entry of that name, in a mapping.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match &self.content {
            Content::Mapping(entries) => {
                entries.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
            }
            Content::Scalar(_) | Content::Sequence(_) => None,
        }
    }
}

/// Reads one document.
pub(super) fn parse(text: &str) -> Result<Node, SpecError> {
    let mut events = Events(Vec::new());
    Parser::new_from_str(text)
        .load(&mut events, false)
        .map_err(|error| SpecError(error.to_string()))?;
    let mut events = events.0.into_iter();
    read_node(events.next(), &mut events)
}

struct Events(Vec<Event>);

impl EventReceiver for Events {
    fn on_event(&mut self, event: Event) {
        let frame = matches!(
            event,
            Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart
                | Event::DocumentEnd
        );
        if !frame {
            self.0.push(event);
        }
    }
}

fn read_node(
    first: Option<Event>,
    rest: &mut impl Iterator<Item = Event>,
) -> Result<Node, SpecError> {
    match first {
        Some(Event::Scalar(text, style, _, tag)) => {
            let content = Content::Scalar(resolve(text, style));
            Ok(Node { marked: is_marked(tag.as_ref()), content })
        }
        Some(Event::SequenceStart(_, tag)) => {
            Ok(Node { marked: is_marked(tag.as_ref()), content: read_sequence(rest)? })
        }
        Some(Event::MappingStart(_, tag)) => {
            Ok(Node { marked: is_marked(tag.as_ref()), content: read_mapping(rest)? })
        }
        _ => Err(SpecError("a value is missing, or an alias is used".into())),
    }
}

fn read_sequence(rest: &mut impl Iterator<Item = Event>) -> Result<Content, SpecError> {
    let mut nodes = Vec::new();
    loop {
        match rest.next() {
            Some(Event::SequenceEnd) => return Ok(Content::Sequence(nodes)),
            first => nodes.push(read_node(first, &mut *rest)?),
        }
    }
}

fn read_mapping(rest: &mut impl Iterator<Item = Event>) -> Result<Content, SpecError> {
    let mut entries = Vec::new();
    loop {
        match rest.next() {
            Some(Event::MappingEnd) => return Ok(Content::Mapping(entries)),
            Some(Event::Scalar(text, _, _, tag)) => {
                let key = Key { marked: is_marked(tag.as_ref()), text };
                let first = rest.next();
                entries.push((key, read_node(first, &mut *rest)?));
            }
            _ => return Err(SpecError("a key is not a scalar".into())),
        }
    }
}

/// A plain scalar by the YAML core schema; a quoted one is text.
fn resolve(text: String, style: TScalarStyle) -> Value {
    if style != TScalarStyle::Plain {
        return text.into();
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => match text.parse::<Number>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
    }
}

fn is_marked(tag: Option<&Tag>) -> bool {
    tag.is_some_and(|tag| tag.handle == "!" && tag.suffix == "sd")
}
