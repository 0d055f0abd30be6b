//! The cases of sd-jwt-python (`specification.yml`): claims with marked parts, the disclosed claims, and
//! the expected result of a verifier.

mod yaml;

use std::fmt;

use serde_json::{Map, Value};

use crate::claim::{Claim, Element, Member};
use crate::issuer::{CredentialBuilder, Issued};
use crate::spec_cases::yaml::{Content, Node};
use crate::wallet::Presentation;

/// The number of decoys at each place in a case with `add_decoy_claims`.
const DECOYS: usize = 3;

/// One `specification.yml`.
#[derive(Clone, Debug)]
pub struct SpecCase {
    /// The claims of the issuer.
    pub user_claims: Vec<Member>,
    /// Mirrors the claims, and marks those that the holder discloses.
    pub holder_disclosed_claims: Value,
    /// The claims after verification, if the case has them.
    pub expect_verified_user_claims: Option<Value>,
    /// Whether the issuer adds decoy digests.
    pub add_decoy_claims: bool,
    /// Whether the holder proves possession of a key.
    pub key_binding: bool,
    /// How the SD-JWT is written.
    pub serialization_format: SerializationFormat,
    /// JOSE header parameters beyond the usual ones.
    pub extra_header_parameters: Map<String, Value>,
}

/// How an SD-JWT is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SerializationFormat {
    /// `<JWT>~<disclosure>~…`
    Compact,
    /// JWS JSON serialization (RFC 9901 8)
    Json,
}

/// A file that is not a case; the text says why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a specification case: {}", self.0)
    }
}

impl std::error::Error for SpecError {}

impl SpecCase {
    /// Reads the YAML text of a case.
    ///
    /// # Errors
    /// It is not YAML, or a member is missing or of another type.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let root = yaml::parse(text)?;
        let claims = root.get("user_claims").ok_or_else(|| wrong("user_claims is missing"))?;
        let Claim::Object(user_claims) = to_claim(claims) else {
            return Err(wrong("user_claims is not a mapping"));
        };
        let value = |name: &str| root.get(name).map(to_value);
        Ok(Self {
            user_claims,
            holder_disclosed_claims: value("holder_disclosed_claims").unwrap_or_default(),
            expect_verified_user_claims: value("expect_verified_user_claims"),
            add_decoy_claims: flag(value("add_decoy_claims"), "add_decoy_claims")?,
            key_binding: flag(value("key_binding"), "key_binding")?,
            serialization_format: serialization_format(value("serialization_format"))?,
            extra_header_parameters: match value("extra_header_parameters") {
                None => Map::new(),
                Some(Value::Object(parameters)) => parameters,
                Some(_) => return Err(wrong("extra_header_parameters is not a mapping")),
            },
        })
    }

    /// The credential of the case. This adds no `iss`, `vct` or `cnf`.
    pub fn credential(&self) -> CredentialBuilder {
        let mut builder = CredentialBuilder::new();
        for (name, value) in &self.extra_header_parameters {
            builder = builder.header(name, value.clone());
        }
        if self.add_decoy_claims {
            builder = builder.decoys(DECOYS);
        }
        self.user_claims.iter().cloned().fold(builder, |builder, member| match member.selective {
            true => builder.sd(&member.name, member.value),
            false => builder.plain(&member.name, member.value),
        })
    }

    /// The holder's presentation of the issued credential.
    pub fn present(&self, issued: &Issued) -> Presentation {
        Presentation::selecting(issued, &self.holder_disclosed_claims)
    }
}

fn to_claim(node: &Node) -> Claim {
    match &node.content {
        Content::Scalar(value) => Claim::Value(value.clone()),
        Content::Sequence(nodes) => Claim::Array(
            nodes
                .iter()
                .map(|node| Element { value: to_claim(node), selective: node.marked })
                .collect(),
        ),
        Content::Mapping(entries) => Claim::Object(
            entries
                .iter()
                .map(|(key, node)| Member {
                    name: key.text.clone(),
                    value: to_claim(node),
                    selective: key.marked,
                })
                .collect(),
        ),
    }
}

fn to_value(node: &Node) -> Value {
    match &node.content {
        Content::Scalar(value) => value.clone(),
        Content::Sequence(nodes) => nodes.iter().map(to_value).collect(),
        Content::Mapping(entries) => {
            entries.iter().map(|(key, node)| (key.text.clone(), to_value(node))).collect()
        }
    }
}

fn flag(value: Option<Value>, name: &str) -> Result<bool, SpecError> {
    match value {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(_) => Err(wrong(&format!("{name} is neither true nor false"))),
    }
}

fn serialization_format(value: Option<Value>) -> Result<SerializationFormat, SpecError> {
    match value.as_ref().map(|value| value.as_str().unwrap_or_default()) {
        None | Some("compact") => Ok(SerializationFormat::Compact),
        Some("json") => Ok(SerializationFormat::Json),
        Some(_) => Err(wrong("serialization_format is neither compact nor json")),
    }
}

fn wrong(why: &str) -> SpecError {
    SpecError(why.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples;

    const CASE: &str = r#"
user_claims:
  sub: user_42
  !sd phone: +1-202-555-0101
  key_types:
    !sd "42": 42
  evidence:
    - !sd
      !sd type: document
      number: "7"
    - !sd only: "key"
    - !sd null
  nested: [[!sd "foo", !sd 2.5]]
holder_disclosed_claims:
  phone: True
  evidence:
    - type: true
  nested: [[false, true]]
expect_verified_user_claims: {sub: user_42}
add_decoy_claims: True
extra_header_parameters:
  kid: 42
"#;

    #[test]
    fn keys_and_elements_can_have_marks() {
        let case = SpecCase::parse(CASE).unwrap();
        let marked: Vec<(&str, bool)> =
            case.user_claims.iter().map(|m| (m.name.as_str(), m.selective)).collect();
        let expected = [
            ("sub", false),
            ("phone", true),
            ("key_types", false),
            ("evidence", false),
            ("nested", false),
        ];
        assert_eq!(marked, expected);
        let Claim::Array(evidence) = &case.user_claims[3].value else { panic!("an array") };
        let marked: Vec<bool> = evidence.iter().map(|element| element.selective).collect();
        assert_eq!(marked, [true, false, true]);
        let Claim::Object(only) = &evidence[1].value else { panic!("an object") };
        assert!(only[0].selective);
    }

    #[test]
    fn the_flags_are_read() {
        let case = SpecCase::parse(CASE).unwrap();
        assert!(case.add_decoy_claims && !case.key_binding);
        assert_eq!(case.serialization_format, SerializationFormat::Compact);
        assert_eq!(case.expect_verified_user_claims, Some(json!({"sub": "user_42"})));
        assert_eq!(case.extra_header_parameters["kid"], 42);
    }

    #[test]
    fn a_case_is_issued_and_presented_as_described() {
        let case = SpecCase::parse(CASE).unwrap();
        let issued = case.credential().issue(&samples::issuer_key(crate::keys::Curve::P256));
        // phone, 42, type, the first element around it, only, null, foo, 2.5
        assert_eq!(issued.disclosures.len(), 8);
        let shown: Vec<Value> = issued
            .disclosures
            .iter()
            .filter(|d| case.present(&issued).disclosures.contains(&d.text))
            .map(|d| d.json().unwrap().as_array().unwrap().last().unwrap().clone())
            .collect();
        assert_eq!(shown.len(), 4);
        assert!(shown.contains(&json!("+1-202-555-0101")) && shown.contains(&json!(2.5)));
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        for text in ["", "[]", "user_claims: 1", "user_claims: {a: [}", "a: {b: 1}"] {
            assert!(SpecCase::parse(text).is_err(), "{text}");
        }
        assert!(SpecCase::parse("{user_claims: {}, key_binding: perhaps}").is_err());
    }

    #[test]
    fn every_case_of_sd_jwt_python_is_read() {
        let Some(cases) = third_party_cases() else {
            eprintln!("skipped: IDGATE_VECTORS names no directory with sd-jwt/sd-jwt-python");
            return;
        };
        assert!(cases.len() >= 17);
        for (path, text) in cases {
            let case = SpecCase::parse(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert!(!case.user_claims.is_empty(), "{path}");
            assert!(case.expect_verified_user_claims.is_some(), "{path}");
        }
    }

    fn third_party_cases() -> Option<Vec<(String, String)>> {
        let root = std::env::var("IDGATE_VECTORS").unwrap_or_else(|_| {
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors").into()
        });
        let directory = format!("{root}/sd-jwt/sd-jwt-python/testcases");
        let cases = std::fs::read_dir(directory).ok()?.filter_map(|entry| {
            let path = entry.ok()?.path().join("specification.yml");
            Some((path.display().to_string(), std::fs::read_to_string(path).ok()?))
        });
        Some(cases.collect())
    }
}
