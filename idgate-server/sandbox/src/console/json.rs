//! JSON for people: members in their original order, short values on one line.

use std::fmt;

use idgate_server::http::Html;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A value of up to this many characters is written on one line.
const LINE: usize = 84;
/// Indentation of each level, in characters.
const STEP: usize = 2;

/// A JSON value with the order of its members.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// A number, a boolean or null, as JSON has it.
    Plain(String),
    Text(String),
    List(Vec<Tree>),
    Members(Vec<(String, Tree)>),
}

impl Tree {
    /// `None` if the text is not JSON.
    pub(super) fn of(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Writes it between `<pre>` and `</pre>`.
    pub(super) fn write(&self, html: &mut Html) {
        self.write_at(html, 0);
    }

    fn write_at(&self, html: &mut Html, indent: usize) {
        let is_long = self.length().saturating_add(indent) > LINE;
        match self {
            Self::List(items) if is_long => {
                let lines = items.iter().map(|item| (None, item));
                block(html, ['[', ']'], lines, indent);
            }
            Self::Members(members) if is_long => {
                let lines = members.iter().map(|(name, value)| (Some(&**name), value));
                block(html, ['{', '}'], lines, indent);
            }
            _ => self.write_on_line(html),
        }
    }

    fn write_on_line(&self, html: &mut Html) {
        match self {
            Self::Plain(text) => drop(html.text(text)),
            Self::Text(text) => token(html, "s", text),
            Self::List(items) => {
                html.raw("[");
                for (at, item) in items.iter().enumerate() {
                    html.raw(if at > 0 { ", " } else { "" });
                    item.write_on_line(html);
                }
                html.raw("]");
            }
            Self::Members(members) => {
                html.raw("{");
                for (at, (name, value)) in members.iter().enumerate() {
                    html.raw(if at > 0 { ", " } else { " " });
                    token(html, "k", name);
                    html.raw(": ");
                    value.write_on_line(html);
                }
                html.raw(if members.is_empty() { "}" } else { " }" });
            }
        }
    }

    /// Its approximate length on one line.
    fn length(&self) -> usize {
        let sum = |lengths: &mut dyn Iterator<Item = usize>| lengths.fold(4, usize::saturating_add);
        match self {
            Self::Plain(text) => text.len(),
            Self::Text(text) => text.chars().count().saturating_add(2),
            Self::List(items) => sum(&mut items.iter().map(|item| item.length().saturating_add(2))),
            Self::Members(members) => sum(&mut members
                .iter()
                .map(|(name, value)| name.len().saturating_add(value.length()).saturating_add(6))),
        }
    }
}

/// A list or an object over several lines.
fn block<'a>(
    html: &mut Html,
    [begin, end]: [char; 2],
    lines: impl Iterator<Item = (Option<&'a str>, &'a Tree)>,
    indent: usize,
) {
    let inner = indent.saturating_add(STEP);
    html.raw(begin.encode_utf8(&mut [0; 4]));
    for (at, (name, value)) in lines.enumerate() {
        html.raw(if at > 0 { ",\n" } else { "\n" }).raw(&" ".repeat(inner));
        if let Some(name) = name {
            token(html, "k", name);
            html.raw(": ");
        }
        value.write_at(html, inner);
    }
    html.raw("\n").raw(&" ".repeat(indent)).raw(end.encode_utf8(&mut [0; 4]));
}

fn token(html: &mut Html, class: &str, text: &str) {
    let quoted = Value::from(text).to_string();
    html.raw("<span class=\"").raw(class).raw("\">").text(&quoted).raw("</span>");
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Ordered)
    }
}

struct Ordered;

impl<'de> Visitor<'de> for Ordered {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Plain("null".into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Plain(Value::from(value).to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Tree::Members(all))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        let mut html = Html::default();
        Tree::of(json).unwrap().write(&mut html);
        let html = html.finish();
        html.replace("<span class=\"k\">", "")
            .replace("<span class=\"s\">", "")
            .replace("</span>", "")
    }

    #[test]
    fn members_keep_their_order_and_short_values_have_one_line() {
        let short = written(r#"{"b":1,"a":[true,null,-2.5],"c":{}}"#);
        assert_eq!(
            short,
            "{ &quot;b&quot;: 1, &quot;a&quot;: [true, null, -2.5], &quot;c&quot;: {} }"
        );
        let long = written(&format!(r#"{{"b":"{}","a":[]}}"#, "x".repeat(LINE)));
        let lines: Vec<_> = long.split('\n').collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (4, "{", "  &quot;a&quot;: []"));
    }

    #[test]
    fn texts_are_escaped() {
        let html = written(r#"{"<b>":"</pre><script>\u202e\n"}"#);
        assert!(!html.contains('<') && !html.contains('\u{202e}'), "{html}");
        assert!(Tree::of("{").is_none());
    }
}
