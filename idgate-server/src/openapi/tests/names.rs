//! Names in the description must not collide in generated code, even in languages that change case
//! and separators.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::BROWSERS;

/// Suffixes that generators append to an operation's id.
const OF_OPERATIONS: [&str; 15] = [
    "",
    "Body",
    "Error",
    "Headers",
    "JsonBody",
    "JsonRequestBody",
    "OperationRequest",
    "Parameters",
    "Params",
    "Req",
    "Request",
    "RequestBody",
    "Res",
    "Response",
    "Success",
];

/// Language types that a generated type of this name would hide or be confused with.
const OF_LANGUAGES: [&str; 16] = [
    "Any",
    "Array",
    "Boolean",
    "Date",
    "Error",
    "Exception",
    "Integer",
    "List",
    "Map",
    "Number",
    "Object",
    "Option",
    "Request",
    "Response",
    "Result",
    "String",
];

fn document() -> Value {
    serde_json::from_str(BROWSERS.with_pages.json).unwrap()
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Every component with its kind.
fn components(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let kinds = document["components"].as_object().unwrap().iter();
    kinds.flat_map(|(kind, named)| {
        named.as_object().unwrap().iter().map(move |(name, it)| (kind.as_str(), name.as_str(), it))
    })
}

fn operation_ids(document: &Value) -> impl Iterator<Item = &str> {
    let items = document["paths"].as_object().unwrap().values();
    items
        .flat_map(|item| item.as_object().unwrap().values())
        .filter_map(|it| it["operationId"].as_str())
}

/// The type names that generators derive from the members of a schema.
fn of_members(name: &str, schema: &Value, found: &mut Vec<String>) {
    for (member, told) in schema["properties"].as_object().into_iter().flatten() {
        for told in [told, &told["items"], &told["additionalProperties"]] {
            if told.get("enum").is_some() || told.get("properties").is_some() {
                let name = format!("{name}{member}");
                of_members(&name, told, found);
                found.push(name);
            }
        }
    }
}

/// The uses of each name, ignoring case and separators.
fn uses(document: &Value) -> BTreeMap<String, Vec<String>> {
    let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |name: &str, what: String| uses.entry(plain(name)).or_default().push(what);
    for (kind, name, it) in components(document) {
        add(name, format!("{kind}/{name}"));
        let mut inner = Vec::new();
        if kind == "schemas" {
            of_members(name, it, &mut inner);
        }
        inner.iter().for_each(|inner| add(inner, format!("in {kind}/{name}")));
    }
    for id in operation_ids(document) {
        OF_OPERATIONS
            .iter()
            .for_each(|after| add(&format!("{id}{after}"), format!("operation {id}")));
    }
    OF_LANGUAGES.iter().for_each(|name| add(name, format!("type {name}")));
    uses
}

#[test]
fn no_two_names_collide() {
    let twice: Vec<_> = uses(&document()).into_values().filter(|uses| uses.len() > 1).collect();
    assert_eq!(twice, Vec::<Vec<String>>::new());
}

/// The values of named enums, in the form that generators use.
fn values(document: &Value) -> impl Iterator<Item = &str> {
    components(document).flat_map(|(.., it)| {
        let named = it["x-enum-varnames"].as_array().or_else(|| it["enum"].as_array());
        named.into_iter().flatten().filter_map(Value::as_str)
    })
}

#[test]
fn no_enum_value_collides_with_another_or_with_a_component() {
    let document = document();
    let mut seen: BTreeSet<_> = components(&document).map(|(_, name, _)| plain(name)).collect();
    assert!(values(&document).count() > 80);
    for value in values(&document) {
        assert!(seen.insert(plain(value)), "{value}");
    }
}

#[test]
fn each_renamed_enum_value_has_a_name() {
    let document = document();
    let renamed = components(&document).filter(|(.., it)| it.get("x-enum-varnames").is_some());
    for (_, name, it) in renamed {
        let count = |member: &str| it[member].as_array().unwrap().len();
        assert_eq!(count("x-enum-varnames"), count("enum"), "{name}");
    }
}

#[test]
fn every_response_header_has_a_name() {
    let document = document();
    let of_operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
    let of_operations =
        of_operations.filter_map(|(_, operation)| operation["responses"].as_object());
    let answers = of_operations.chain(document["components"]["responses"].as_object()).flatten();
    let headers: Vec<_> =
        answers.filter_map(|(_, answer)| answer["headers"].as_object()).flatten().collect();
    assert!(headers.len() > 50);
    for (header, it) in headers {
        assert!(it["$ref"].is_string(), "{header}: {it}");
    }
}

#[test]
fn colliding_names_are_found() {
    for (component, name) in [
        ("parameters", "keyId"),
        ("headers", "page-state"),
        ("responses", "CreateSessionResponse"),
        ("schemas", "WebhookPayloadStatus"),
        ("securitySchemes", "api_key"),
        ("schemas", "error"),
    ] {
        let mut document = document();
        document["components"][component][name] = Value::Object(serde_json::Map::new());
        assert!(uses(&document).into_values().any(|uses| uses.len() > 1), "{component}/{name}");
    }
}
