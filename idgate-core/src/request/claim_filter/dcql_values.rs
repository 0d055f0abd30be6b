//! Filters as `values` of a DCQL query (OpenID4VP 6.3).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{ClaimFilter, Rule};
use crate::codec::json::{Kind, Tape, Value};
use crate::request::json_value::JsonValue;

impl ClaimFilter {
    /// Creates the filter from the JSON text of a claims query's `values`: the claim must have one
    /// of them (OpenID4VP 6.3).
    ///
    /// # Errors
    /// The broken rule, for example `must not be empty`.
    pub fn from_values(values: &str) -> Result<Self, &'static str> {
        const RULE: &str = "must be an array of strings, integers and booleans";
        let mut source = String::from("{\"enum\":");
        let mut tape = Tape::default();
        let id = tape.parse(values.as_bytes()).map_err(|_| RULE)?;
        let values: Vec<Value<'_, '_>> = tape.value(id).elements().ok_or(RULE)?.collect();
        if values.is_empty() {
            return Err("must not be empty");
        }
        if !values.iter().all(|value| is_dcql_value(*value)) {
            return Err(RULE);
        }
        tape.value(id).write_compact(&mut source);
        source.push('}');
        let one_of = values.into_iter().map(JsonValue::from_value).collect();
        Ok(Self { source, rules: vec![Rule::OneOf(one_of)] })
    }

    /// The allowed values as the text of a JSON array, if the filter lists them and each is allowed
    /// in a DCQL query: strings, integers and booleans (OpenID4VP 6.3).
    pub(in crate::request) fn values_for_wallet(&self) -> Option<String> {
        let mut tape = Tape::default();
        let id = tape.parse(self.source.as_bytes()).ok()?;
        let filter = tape.value(id);
        let allowed: Vec<Value<'_, '_>> = match filter.get("const") {
            Some(only) => vec![only],
            None => filter.get("enum")?.elements()?.collect(),
        };
        let mut text = String::new();
        for value in allowed {
            if !is_dcql_value(value) {
                return None;
            }
            text.push(if text.is_empty() { '[' } else { ',' });
            value.write_source(&mut text);
        }
        text.push(']');
        Some(text)
    }
}

/// A number counts as an integer only if it is written as one, so that all readers agree.
fn is_dcql_value(value: Value<'_, '_>) -> bool {
    match value.kind() {
        Kind::String | Kind::Bool => true,
        Kind::Number => value.as_number().is_some_and(|text| !text.contains(['.', 'e', 'E'])),
        _ => false,
    }
}
