//! An owned JSON value of a filter, and its equality with a disclosed value (JSON Schema 4.2.2).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::json::{Kind, Value};
use crate::request::decimal::Decimal;

/// A value of `const` or `enum`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum JsonValue {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Vec<JsonValue>),
    Object(BTreeMap<String, JsonValue>),
}

impl JsonValue {
    /// The recursion is limited by the depth that strict JSON may have.
    pub(super) fn from_value(value: Value<'_, '_>) -> Self {
        match value.kind() {
            Kind::Null => Self::Null,
            Kind::Bool => Self::Bool(value.as_bool().unwrap_or_default()),
            Kind::Number => Self::Number(Decimal::parse(value.as_number().unwrap_or("0"))),
            Kind::String => Self::String(value.as_str().unwrap_or_default().into_owned()),
            Kind::Array => {
                Self::Array(value.elements().into_iter().flatten().map(Self::from_value).collect())
            }
            Kind::Object => {
                let members = value.members().into_iter().flatten();
                Self::Object(
                    members
                        .map(|(name, v)| (name.unescape().into(), Self::from_value(v)))
                        .collect(),
                )
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::codec::json::Tape;

    fn value(text: &str) -> JsonValue {
        let mut tape = Tape::default();
        let id = tape.parse(text.as_bytes()).unwrap();
        JsonValue::from_value(tape.value(id))
    }

    #[test]
    fn equality_is_by_value_and_deep() {
        for (a, b) in [
            ("1", "1.0"),
            (r#""\u0041""#, r#""A""#),
            (r#"{"a":1,"b":[2e0,null]}"#, r#"{"b":[2,null],"a":1}"#),
        ] {
            assert_eq!(value(a), value(b), "{a} {b}");
        }
    }

    #[test]
    fn different_values_differ() {
        let all = [
            "null",
            "true",
            "false",
            "0",
            "1",
            r#""""#,
            r#""1""#,
            r#""true""#,
            r#""null""#,
            "[]",
            "{}",
            "[1]",
            "[1,2]",
            "[2,1]",
            "[[1]]",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"a":1,"b":1}"#,
            "9007199254740992",
            "9007199254740993",
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(value(a) == value(b), i == j, "{a} {b}");
            }
        }
    }
}
