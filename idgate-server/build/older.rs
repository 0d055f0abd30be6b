//! OpenAPI 3.1 as OpenAPI 3.0.3. A field or keyword that is not listed here stops the build: it needs a decision how
//! 3.0 says it.

use yaml_rust2::Yaml;
use yaml_rust2::yaml::Hash;

/// The same description in OpenAPI 3.0.3. It says less where 3.0 has no word for something, and nothing else.
pub(crate) fn in_3_0(document: &Yaml) -> Result<Yaml, String> {
    converted(document, &DOCUMENT, "")
}

/// A kind of value in a description, by how 3.0 says it.
enum Shape {
    /// In the same words.
    Same,
    /// Not at all.
    Unsaid,
    Version,
    Schema,
    List(&'static Shape),
    /// A mapping of names.
    Named(&'static Shape),
    /// A mapping with these fields.
    Object(&'static [(&'static str, Shape)]),
}

use Shape::{List, Named, Object, Same, Schema, Unsaid, Version};

static DOCUMENT: Shape = Object(&[
    ("openapi", Version),
    ("jsonSchemaDialect", Unsaid),
    ("info", Object(&INFO)),
    ("servers", Same),
    ("tags", Same),
    ("paths", Named(&Object(&PATH_ITEM))),
    ("components", Object(&COMPONENTS)),
]);

static INFO: [(&str, Shape); 5] = [
    ("title", Same),
    ("version", Same),
    ("summary", Unsaid),
    ("description", Same),
    ("license", Object(&[("name", Same), ("identifier", Unsaid)])),
];

static COMPONENTS: [(&str, Shape); 5] = [
    ("securitySchemes", Same),
    ("parameters", Named(&Object(&PARAMETER))),
    ("headers", Named(&Object(&PARAMETER))),
    ("responses", Named(&Object(&RESPONSE))),
    ("schemas", Named(&Schema)),
];

static PATH_ITEM: [(&str, Shape); 5] = [
    ("parameters", List(&Object(&PARAMETER))),
    ("get", Object(&OPERATION)),
    ("post", Object(&OPERATION)),
    ("put", Object(&OPERATION)),
    ("delete", Object(&OPERATION)),
];

static OPERATION: [(&str, Shape); 8] = [
    ("operationId", Same),
    ("tags", Same),
    ("summary", Same),
    ("description", Same),
    ("security", Same),
    ("parameters", List(&Object(&PARAMETER))),
    ("requestBody", Object(&[("required", Same), ("content", Named(&Object(&MEDIA_TYPE)))])),
    ("responses", Named(&Object(&RESPONSE))),
];

/// Of a header, too.
static PARAMETER: [(&str, Shape); 7] = [
    ("$ref", Same),
    ("name", Same),
    ("in", Same),
    ("description", Same),
    ("required", Same),
    ("schema", Schema),
    ("example", Same),
];

static RESPONSE: [(&str, Shape); 5] = [
    ("$ref", Same),
    ("description", Same),
    ("headers", Named(&Object(&PARAMETER))),
    ("content", Named(&Object(&MEDIA_TYPE))),
    ("links", Same),
];

static MEDIA_TYPE: [(&str, Shape); 3] = [("schema", Schema), ("example", Same), ("examples", Same)];

fn converted(value: &Yaml, shape: &Shape, at: &str) -> Result<Yaml, String> {
    match shape {
        Same | Unsaid => Ok(value.clone()),
        Version => Ok(text("3.0.3")),
        Schema => schema(value, at),
        List(shape) => list(value, shape, at),
        Named(shape) => named(value, |_| Ok(shape), at),
        Object(fields) => named(value, |name| field(fields, name), at),
    }
}

fn field<'a>(fields: &'a [(&str, Shape)], name: &str) -> Result<&'a Shape, String> {
    let listed = fields.iter().find(|(field, _)| *field == name).map(|(_, shape)| shape);
    let extension = name.starts_with("x-").then_some(&Same);
    listed.or(extension).ok_or_else(|| "not known how OpenAPI 3.0 says it".to_owned())
}

fn list(value: &Yaml, shape: &Shape, at: &str) -> Result<Yaml, String> {
    let items = value.as_vec().ok_or_else(|| format!("{at}: not a list"))?;
    items.iter().map(|item| converted(item, shape, at)).collect::<Result<_, _>>().map(Yaml::Array)
}

/// A mapping whose members have shapes by their names.
fn named<'a>(
    value: &Yaml,
    shape_of: impl Fn(&str) -> Result<&'a Shape, String>,
    at: &str,
) -> Result<Yaml, String> {
    let mut members = Hash::new();
    for (name, value) in value.as_hash().ok_or_else(|| format!("{at}: not a mapping"))? {
        let at = format!("{at}/{}", name.as_str().unwrap_or_default());
        let shape =
            shape_of(name.as_str().unwrap_or_default()).map_err(|why| format!("{at}: {why}"))?;
        if !matches!(shape, Unsaid) {
            members.insert(name.clone(), converted(value, shape, &at)?);
        }
    }
    Ok(Yaml::Hash(members))
}

/// JSON Schema 2020-12 as the Schema Object of 3.0.
fn schema(value: &Yaml, at: &str) -> Result<Yaml, String> {
    let mut members = Hash::new();
    let keywords = value.as_hash().ok_or_else(|| format!("{at}: not a schema that 3.0 has"))?;
    for (keyword, rule) in keywords {
        let keyword = keyword.as_str().unwrap_or_default();
        let at = format!("{at}/{keyword}");
        match keyword {
            "type" => insert_type(&mut members, rule, &at)?,
            "const" => insert(&mut members, "enum", Yaml::Array(vec![rule.clone()])),
            // 3.0 ignores the other members of a reference.
            "$ref" if keywords.len() > 1 => {
                let reference = Hash::from_iter([(text("$ref"), rule.clone())]);
                insert(&mut members, "allOf", Yaml::Array(vec![Yaml::Hash(reference)]));
            }
            "additionalProperties" if rule.as_bool().is_some() => {
                insert(&mut members, keyword, rule.clone());
            }
            _ => match field(&KEYWORDS, keyword).map_err(|why| format!("{at}: {why}"))? {
                Unsaid => {}
                shape => insert(&mut members, keyword, converted(rule, shape, &at)?),
            },
        }
    }
    Ok(Yaml::Hash(members))
}

static KEYWORDS: [(&str, Shape); 23] = [
    ("$ref", Same),
    ("description", Same),
    ("default", Same),
    ("writeOnly", Same),
    ("enum", Same),
    ("format", Same),
    ("required", Same),
    ("minimum", Same),
    ("maximum", Same),
    ("minLength", Same),
    ("maxLength", Same),
    ("pattern", Same),
    ("minItems", Same),
    ("maxItems", Same),
    ("uniqueItems", Same),
    ("properties", Named(&Schema)),
    ("additionalProperties", Schema),
    ("items", Schema),
    ("not", Schema),
    ("oneOf", List(&Schema)),
    ("anyOf", List(&Schema)),
    ("allOf", List(&Schema)),
    // Only narrows what is described; descriptions say it in words.
    ("dependentRequired", Unsaid),
];

/// A type, or one of a type and `null`.
fn insert_type(members: &mut Hash, rule: &Yaml, at: &str) -> Result<(), String> {
    let types: Vec<_> = match rule {
        Yaml::Array(types) => types.iter().filter_map(Yaml::as_str).collect(),
        _ => rule.as_str().into_iter().collect(),
    };
    let (name, nullable) = match types[..] {
        [name] if name != "null" => (name, false),
        [name, "null"] => (name, true),
        _ => return Err(format!("{at}: 3.0 has one type, and perhaps null")),
    };
    insert(members, "type", text(name));
    if nullable {
        insert(members, "nullable", Yaml::Boolean(true));
    }
    Ok(())
}

fn insert(members: &mut Hash, name: &str, value: Yaml) {
    members.insert(text(name), value);
}

fn text(text: &str) -> Yaml {
    Yaml::String(text.to_owned())
}
