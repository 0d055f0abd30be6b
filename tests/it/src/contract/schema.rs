//! The part of JSON Schema 2020-12 that the OpenAPI description uses. Any other keyword fails the
//! test.

use std::collections::HashSet;

use idgate_core::UnixMillis;
use regex::Regex;
use serde_json::{Map, Value};

/// Checks `value` against a schema of `document`. The error says where and what.
pub(super) fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    match schema {
        Value::Bool(true) => Ok(()),
        Value::Bool(false) => Err("must not be there".into()),
        Value::Object(keywords) => Schema { document, keywords }.check(value),
        _ => panic!("no schema: {schema}"),
    }
}

struct Schema<'a> {
    document: &'a Value,
    keywords: &'a Map<String, Value>,
}

impl Schema<'_> {
    fn check(&self, value: &Value) -> Result<(), String> {
        self.keywords.iter().try_for_each(|(keyword, rule)| {
            let holds = match keyword.as_str() {
                "description" | "default" | "writeOnly" | "x-enum-varnames" => true,
                "$ref" => return self.sub(self.target(rule), value),
                "type" => is_of_type(rule, value),
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "oneOf" => self.matches(rule, value) == 1,
                "anyOf" => self.matches(rule, value) > 0,
                "not" => self.sub(rule, value).is_err(),
                _ => return self.check_by_type(keyword, rule, value),
            };
            if holds { Ok(()) } else { Err(format!("breaks {keyword}: {rule}")) }
        })
    }

    /// Keywords that do not apply to values of another type.
    fn check_by_type(&self, keyword: &str, rule: &Value, value: &Value) -> Result<(), String> {
        let number = || rule.as_f64().unwrap();
        let length = || usize::try_from(rule.as_u64().unwrap()).unwrap();
        let holds = match (keyword, value) {
            ("properties", Value::Object(members)) => return self.properties(rule, members),
            ("additionalProperties", Value::Object(members)) => {
                return self.additional_properties(rule, members);
            }
            ("items", Value::Array(items)) => {
                return items.iter().try_for_each(|item| self.sub(rule, item));
            }
            ("required", Value::Object(members)) => has_all(members, rule),
            ("dependentRequired", Value::Object(members)) => {
                let rules = rule.as_object().unwrap().iter();
                rules
                    .filter(|(name, _)| members.contains_key(*name))
                    .all(|it| has_all(members, it.1))
            }
            ("minItems", Value::Array(items)) => items.len() >= length(),
            ("maxItems", Value::Array(items)) => items.len() <= length(),
            ("uniqueItems", Value::Array(items)) => {
                let mut seen = HashSet::new();
                items.iter().all(|item| seen.insert(item.to_string()))
            }
            ("minLength", Value::String(text)) => text.chars().count() >= length(),
            ("maxLength", Value::String(text)) => text.chars().count() <= length(),
            ("pattern", Value::String(text)) => {
                Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)
            }
            ("format", Value::String(text)) => has_format(rule.as_str().unwrap(), text),
            ("minimum", Value::Number(have)) => have.as_f64().unwrap() >= number(),
            ("maximum", Value::Number(have)) => have.as_f64().unwrap() <= number(),
            (
                "properties"
                | "additionalProperties"
                | "items"
                | "required"
                | "dependentRequired"
                | "minItems"
                | "maxItems"
                | "uniqueItems"
                | "minLength"
                | "maxLength"
                | "pattern"
                | "format"
                | "minimum"
                | "maximum",
                _,
            ) => true,
            _ => panic!("the keyword {keyword} is not checked here yet"),
        };
        if holds { Ok(()) } else { Err(format!("breaks {keyword}: {rule}")) }
    }

    fn properties(&self, rule: &Value, members: &Map<String, Value>) -> Result<(), String> {
        members.iter().try_for_each(|(name, value)| match rule.get(name) {
            Some(schema) => self.sub(schema, value).map_err(|why| format!("{name}: {why}")),
            None => Ok(()),
        })
    }

    fn additional_properties(
        &self,
        rule: &Value,
        members: &Map<String, Value>,
    ) -> Result<(), String> {
        let named =
            |name: &str| self.keywords.get("properties").is_some_and(|p| p.get(name).is_some());
        let mut more = members.iter().filter(|(name, _)| !named(name));
        more.try_for_each(|(name, value)| {
            self.sub(rule, value).map_err(|why| format!("{name}: {why}"))
        })
    }

    fn matches(&self, rules: &Value, value: &Value) -> usize {
        let rules = rules.as_array().unwrap().iter();
        rules.filter(|rule| self.sub(rule, value).is_ok()).count()
    }

    fn target(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let target = pointer.and_then(|pointer| self.document.pointer(pointer));
        target.unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn sub(&self, schema: &Value, value: &Value) -> Result<(), String> {
        check(self.document, schema, value)
    }
}

fn has_all(members: &Map<String, Value>, names: &Value) -> bool {
    names.as_array().unwrap().iter().all(|name| members.contains_key(name.as_str().unwrap()))
}

fn is_of_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("no type: {other}"),
    };
    rule.as_array().map_or_else(|| is(rule), |types| types.iter().any(is))
}

fn has_format(format: &str, text: &str) -> bool {
    match format {
        // The description says this about every one: UTC, with milliseconds and `Z`. Generators do
        // not support a pattern together with a format.
        "date-time" => {
            text.len() == "2026-11-21T12:00:00.000Z".len()
                && text.ends_with('Z')
                && UnixMillis::parse_rfc3339(text).is_some()
        }
        "date" => UnixMillis::parse_rfc3339(&format!("{text}T00:00:00Z")).is_some(),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            !scheme.is_empty() && !rest.is_empty() && !text.contains(' ')
        }),
        other => panic!("the format {other} is not checked here yet"),
    }
}

#[test]
fn each_schema_keyword_rejects_invalid_values() {
    use serde_json::json;
    let document = json!({ "s": { "type": "string" } });
    for (schema, good, bad) in [
        (json!({ "$ref": "#/s" }), json!("x"), json!(1)),
        (json!({ "type": ["integer", "null"] }), json!(null), json!(1.5)),
        (json!({ "const": "x" }), json!("x"), json!("y")),
        (json!({ "enum": ["x", "y"] }), json!("y"), json!("z")),
        (json!({ "oneOf": [{ "type": "string" }, { "const": "x" }] }), json!("y"), json!("x")),
        (json!({ "anyOf": [{ "type": "string" }, { "const": 1 }] }), json!(1), json!(2)),
        (json!({ "not": { "required": ["d"] } }), json!({}), json!({ "d": 1 })),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({})),
        (
            json!({ "properties": { "a": { "type": "null" } } }),
            json!({ "b": 1 }),
            json!({ "a": 1 }),
        ),
        (json!({ "properties": { "a": false } }), json!({}), json!({ "a": 1 })),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "a": 1 }),
            json!({ "b": 1 }),
        ),
        (
            json!({ "additionalProperties": { "type": "null" } }),
            json!({ "b": null }),
            json!({ "b": 1 }),
        ),
        (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "b": 1 }), json!({ "a": 1 })),
        (json!({ "items": { "type": "null" } }), json!([null]), json!([null, 1])),
        (json!({ "minItems": 1 }), json!([1]), json!([])),
        (json!({ "maxItems": 1 }), json!([1]), json!([1, 2])),
        (json!({ "uniqueItems": true }), json!([1, 2]), json!([1, 1])),
        (json!({ "minLength": 2 }), json!("äö"), json!("ä")),
        (json!({ "maxLength": 1 }), json!("ä"), json!("äö")),
        (json!({ "pattern": "^a$" }), json!("a"), json!("ab")),
        (json!({ "format": "date-time" }), json!("2026-11-21T12:00:00.000Z"), json!("2026-11-21")),
        (
            json!({ "format": "date-time" }),
            json!("2026-11-21T12:00:00.000Z"),
            json!("2026-11-21T12:00:00Z"),
        ),
        (json!({ "format": "date" }), json!("2026-11-21"), json!("2026-13-21")),
        (json!({ "format": "uri" }), json!("a:b"), json!("a b")),
        (json!({ "minimum": 1 }), json!(1), json!(0.5)),
        (json!({ "maximum": 1 }), json!(0.5), json!(2)),
    ] {
        assert_eq!(check(&document, &schema, &good), Ok(()), "{schema}");
        assert!(check(&document, &schema, &bad).is_err(), "{schema}");
    }
}
