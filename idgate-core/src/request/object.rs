//! A JSON object whose members keep their order, each as JSON text.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

#[cfg(test)]
use crate::codec::json::Tape;
use crate::codec::json::{Value, json_text};

/// Members by name, each name once.
#[derive(Clone, Debug, Default)]
pub(super) struct Object(Vec<(String, String)>);

impl Object {
    /// The members of `value`, which has no repeated name; none if it is not an object.
    pub(super) fn of(value: Value<'_, '_>) -> Self {
        let members = value.members().into_iter().flatten().map(|(name, value)| {
            let mut text = String::new();
            value.write_source(&mut text);
            (name.unescape().into_owned(), text)
        });
        Self(members.collect())
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::from("{");
        for (name, value) in &self.0 {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&json_text(name));
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }

    /// Sets the member `name`, and replaces an existing value.
    pub(super) fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.set_text(name, text_of(value));
    }

    /// Appends to the array `name`, which is created if it is absent.
    pub(super) fn extend(&mut self, name: &str, elements: impl IntoIterator<Item = String>) {
        let array = self.get(name).and_then(|text| text.trim_end().strip_suffix(']'));
        let mut array = String::from(array.unwrap_or("["));
        for element in elements {
            if array.trim() != "[" {
                array.push(',');
            }
            array.push_str(&element);
        }
        array.push(']');
        self.set_text(name, array);
    }

    /// Appends a member to the object `name`, which is created if it is absent. It removes nothing:
    /// the parser refuses a repeated member.
    pub(super) fn put(&mut self, name: &str, member: &str, value: &(impl Serialize + ?Sized)) {
        self.put_text(name, member, &text_of(value));
    }

    /// The same for a value that is JSON text.
    pub(super) fn put_text(&mut self, name: &str, member: &str, value: &str) {
        let object = self.get(name).and_then(|text| text.trim_end().strip_suffix('}'));
        let mut object = String::from(object.unwrap_or("{"));
        if object.trim() != "{" {
            object.push(',');
        }
        object.push_str(&json_text(member));
        object.push(':');
        object.push_str(value);
        object.push('}');
        self.set_text(name, object);
    }

    /// The member `name` as JSON text.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        self.get(name).map(String::from)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    fn set_text(&mut self, name: &str, text: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = text,
            None => self.0.push((String::from(name), text)),
        }
    }
}

/// The JSON text of `value`. A value that cannot be written becomes `null`, which no field of a
/// request allows, so that the parser names the field.
pub(super) fn text_of(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| String::from("null"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        let mut tape = Tape::default();
        let id = tape.parse(text.as_bytes()).unwrap();
        Object::of(tape.value(id))
    }

    #[test]
    fn members_keep_their_order_and_the_source_of_their_values() {
        let text = r#"{"b":[1.50, "\u0041"],"a":{"x" : null}}"#;
        assert_eq!(object(text).text(), text);
    }

    #[test]
    fn a_member_that_is_set_again_keeps_its_place() {
        let mut object = object(r#"{"a":1,"b":2}"#);
        object.set("a", "it's \"3\"\u{1}");
        assert_eq!(object.text(), r#"{"a":"it's \"3\"\u0001","b":2}"#);
    }

    #[test]
    fn arrays_grow_whatever_white_space_they_were_written_with() {
        for (before, after) in [
            ("{}", r#"{"a":[1,2]}"#),
            (r#"{"a":[ ] }"#, r#"{"a":[ 1,2]}"#),
            (r#"{"a":[0]}"#, r#"{"a":[0,1,2]}"#),
            (r#"{"a":5}"#, r#"{"a":[1,2]}"#),
        ] {
            let mut object = object(before);
            object.extend("a", ["1".into(), "2".into()]);
            assert_eq!(object.text(), after);
        }
    }

    #[test]
    fn a_name_with_quotes_stays_one_name() {
        let mut object = Object::default();
        object.put("filters", r#"a":1,"b"#, &true);
        object.put("filters", "c", &false);
        assert_eq!(object.text(), r#"{"filters":{"a\":1,\"b":true,"c":false}}"#);
    }

    #[test]
    fn repeated_and_unreadable_members_are_kept_for_the_parser_to_refuse() {
        let mut object = Object::default();
        object.put("filters", "age", &serde_json::json!({ "minimum": 18 }));
        object.put("filters", "age", &serde_json::json!({ "maximum": 65 }));
        let deep = (0..40).fold(serde_json::json!(0), |inner, _| serde_json::json!([inner]));
        object.put("filters", "deep", &deep);
        object.put("filters", "last", &true);
        let text = object.text();
        for member in
            [r#""age":{"minimum":18}"#, r#""age":{"maximum":65}"#, "[[0]]", r#""last":true"#]
        {
            assert!(text.contains(member), "{member}: {text}");
        }
        assert!(Tape::default().parse(text.as_bytes()).is_err());
    }

    #[test]
    fn a_value_that_cannot_be_written_is_null() {
        let no_text = alloc::collections::BTreeMap::from([((1, 2), 3)]);
        assert_eq!(text_of(&no_text), "null");
    }
}
