//! Each served description equals `openapi.yaml`, without the parts that its gateway lacks.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod names;
#[path = "../../build/older.rs"]
mod older;
#[path = "../../build/parts.rs"]
mod parts;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use yaml_rust2::{Yaml, YamlLoader};

use super::{BROWSERS, DRAFT, Description, Kinds, PROFILES};

const FILE: &str = include_str!("../../openapi.yaml");

fn each() -> impl Iterator<Item = Description> {
    [DRAFT, PROFILES, BROWSERS]
        .into_iter()
        .flat_map(|Kinds { without_pages, with_pages }| [without_pages, with_pages])
}

fn yaml(text: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

fn as_json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Hash(members) => {
            let member =
                |(name, value): (&Yaml, &Yaml)| (name.as_str().unwrap().to_owned(), as_json(value));
            Value::Object(members.iter().map(member).collect())
        }
        Yaml::Array(items) => Value::Array(items.iter().map(as_json).collect()),
        Yaml::String(text) => json!(text),
        Yaml::Integer(number) => json!(number),
        Yaml::Real(number) => json!(number.parse::<f64>().unwrap()),
        Yaml::Boolean(yes) => json!(yes),
        Yaml::Null => Value::Null,
        Yaml::Alias(_) | Yaml::BadValue => panic!("{yaml:?}"),
    }
}

/// The value without the markers of conditional parts.
fn unmarked(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| !name.starts_with("x-idgate-where"));
            Value::Object(kept.map(|(name, value)| (name, unmarked(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(unmarked).collect()),
        other => other,
    }
}

/// Each operation by its id: path, method, responses, body and parameters.
fn operations(document: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(id) = operation["operationId"].as_str() else { continue };
            let answers: Vec<_> = operation["responses"].as_object().unwrap().keys().collect();
            let body = operation["requestBody"]["content"].as_object();
            let body: Vec<_> = body.into_iter().flat_map(Map::keys).collect();
            let named =
                |part: &Value| [part["$ref"].clone(), part["name"].clone(), part["in"].clone()];
            let parameters = [&item["parameters"], &operation["parameters"]];
            let parameters =
                parameters.into_iter().filter_map(Value::as_array).flatten().map(named);
            let told = json!([path, method, answers, body, parameters.collect::<Vec<_>>()]);
            assert!(found.insert(id.to_owned(), told).is_none(), "{id} twice");
        }
    }
    found
}

#[test]
fn each_text_is_inflated_to_its_end() {
    for Description { yaml, json, yaml_3_0 } in each() {
        assert!(yaml.starts_with("openapi: \"3.1.0\"\n") && yaml.ends_with('\n'));
        assert!(yaml_3_0.starts_with("openapi: \"3.0.3\"\n") && yaml_3_0.ends_with('\n'));
        assert!(json.starts_with(r#"{"openapi":"3.1.0","#) && json.ends_with('}'));
        assert!(yaml.len() > 80_000 && yaml_3_0.len() > 80_000 && json.len() > 70_000);
    }
}

#[test]
fn the_file_describes_a_gateway_with_everything_on() {
    let served: Value = serde_json::from_str(BROWSERS.with_pages.json).unwrap();
    assert_eq!(unmarked(as_json(&yaml(FILE))), served);
}

#[test]
fn a_mapping_with_a_repeated_key_does_not_parse() {
    let twice = FILE.replacen("openapi: 3.1.0\n", "openapi: 3.1.0\nopenapi: 3.1.0\n", 1);
    assert!(YamlLoader::load_from_str(&twice).is_err());
}

#[test]
fn yaml_and_json_of_each_description_are_equal_and_have_no_markers() {
    for described in each() {
        let json: Value = serde_json::from_str(described.json).unwrap();
        assert_eq!(as_json(&yaml(described.yaml)), json);
        for text in [described.yaml, described.json, described.yaml_3_0] {
            assert!(!text.contains("x-idgate-where"));
        }
    }
}

#[test]
fn both_versions_of_each_description_have_the_same_operations_and_components() {
    for described in each() {
        let [newer, older] = [described.yaml, described.yaml_3_0].map(|text| as_json(&yaml(text)));
        assert!(operations(&newer).len() > 30);
        assert_eq!(operations(&newer), operations(&older));
        let names = |document: &Value| {
            let kinds = document["components"].as_object().unwrap().iter();
            let names = |(kind, named): (&String, &Value)| {
                (kind.clone(), named.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
            };
            kinds.map(names).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(names(&newer), names(&older));
    }
}

#[test]
fn each_3_0_description_is_equivalent_to_the_3_1_description() {
    for described in each() {
        let said = older::in_3_0(&yaml(described.yaml)).unwrap();
        assert_eq!(said, yaml(described.yaml_3_0));
        assert!(!described.yaml_3_0.contains("- \"null\"\n"));
        assert!(described.yaml.contains("- \"null\"\n"));
    }
}

/// A description with one schema.
fn with_schema(schema: &str) -> Yaml {
    yaml(&format!("openapi: 3.1.0\ncomponents: {{ schemas: {{ S: {schema} }} }}"))
}

#[test]
fn schemas_of_3_1_are_translated_to_3_0() {
    for (newer, older) in [
        (
            r"{ type: [string, 'null'], format: date }",
            r"{ type: string, nullable: true, format: date }",
        ),
        (r"{ type: boolean, const: true }", r"{ type: boolean, enum: [true] }"),
        (r"{ description: d, $ref: '#/a' }", r"{ description: d, allOf: [{ $ref: '#/a' }] }"),
        (r"{ $ref: '#/a' }", r"{ $ref: '#/a' }"),
        (r"{ dependentRequired: { a: [b] }, type: object }", r"{ type: object }"),
        (
            r"{ properties: { const: { const: 1 }, type: {} }, additionalProperties: false }",
            r"{ properties: { const: { enum: [1] }, type: {} }, additionalProperties: false }",
        ),
        (
            r"{ additionalProperties: { type: [integer, 'null'] }, x-open: true }",
            r"{ additionalProperties: { type: integer, nullable: true }, x-open: true }",
        ),
        (
            r"{ oneOf: [{ const: a }], default: { const: a } }",
            r"{ oneOf: [{ enum: [a] }], default: { const: a } }",
        ),
    ] {
        let said = older::in_3_0(&with_schema(newer)).unwrap();
        assert_eq!(
            as_json(&said)["components"],
            as_json(&with_schema(older))["components"],
            "{newer}"
        );
    }
}

#[test]
fn a_schema_that_3_0_cannot_express_stops_the_build() {
    for schema in [
        "{ if: {} }",
        "{ prefixItems: [] }",
        "{ exclusiveMinimum: 1 }",
        "{ type: [string, integer] }",
        "{ type: 'null' }",
        "{ items: true }",
        "{ properties: { a: { contentEncoding: base64 } } }",
    ] {
        assert!(older::in_3_0(&with_schema(schema)).is_err(), "{schema}");
    }
    let why = older::in_3_0(&yaml("openapi: 3.1.0\nwebhooks: {}")).unwrap_err();
    assert_eq!(why, "/webhooks: not known how OpenAPI 3.0 says it");
}

#[test]
fn a_description_has_the_parts_that_are_marked_for_its_gateway() {
    let everything = yaml(
        "list:
  - { name: a }
  - { name: b, x-idgate-where: pages }
  - $ref: '#/parts/page'
mode: { enum: [inline, dc_api], x-idgate-where-values: { dc_api: browsers } }
parts:
  page: { x-idgate-where: pages, of: $ref }
  more: { x-idgate-where: profiles, page: { $ref: '#/parts/page' } }
",
    );
    let of = |has: &[&str]| as_json(&parts::of_gateway(&everything, has).unwrap());
    assert_eq!(
        of(&[]),
        json!({ "list": [{ "name": "a" }], "mode": { "enum": ["inline"] }, "parts": {} })
    );
    assert_eq!(
        of(&["profiles", "browsers"]),
        json!({
            "list": [{ "name": "a" }],
            "mode": { "enum": ["inline", "dc_api"] },
            "parts": { "more": {} },
        })
    );
    let with_all = of(&["profiles", "browsers", "pages"]);
    assert_eq!(with_all, unmarked(as_json(&everything)));
}

#[test]
fn a_wrong_marker_or_reference_stops_the_build() {
    for wrong in [
        "a: { x-idgate-where: nowhere }",
        "a: { x-idgate-where: [pages] }",
        "a: { enum: [b], x-idgate-where-values: { b: nowhere } }",
        "a: { enum: [b], x-idgate-where-values: [b] }",
        "x-idgate-where: pages",
        "a: { $ref: '#/b' }",
        "a: { $ref: elsewhere }",
    ] {
        assert!(parts::of_gateway(&yaml(wrong), &[]).is_err(), "{wrong}");
    }
}
