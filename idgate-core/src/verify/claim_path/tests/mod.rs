//! Every row of the table of claims path pointers, in plain payloads and with hidden parts.

use alloc::format;
use alloc::string::ToString;

use serde_json::{Value as Json, json};

use super::*;
use crate::codec::base64url;
use crate::codec::json::{NodeId, Tape};
use crate::crypto::HashAlg;
use crate::crypto::rustcrypto::PROVIDER;
use crate::formats::sd_jwt_vc::DisclosureIndex;

/// The values at `path` in `payload`, with these disclosures.
fn selected(payload: &Json, disclosures: &[Json], path: &str) -> Option<Json> {
    let payload = payload.to_string();
    let texts: Vec<String> = disclosures.iter().map(Json::to_string).collect();
    let mut tape = Tape::default();
    let root = tape.parse(payload.as_bytes()).unwrap();
    let disclosures: Vec<(&str, NodeId)> =
        texts.iter().map(|text| (text.as_str(), tape.parse(text.as_bytes()).unwrap())).collect();
    let index = DisclosureIndex::new(&disclosures, HashAlg::Sha256, &PROVIDER).unwrap();
    let payload = ProcessedPayload::bind(&tape, root, index).unwrap();
    let selected = select(&payload, &ClaimPath::from_json(path).unwrap())?;
    let mut out = String::new();
    selected.write(&payload, &mut out);
    Some(serde_json::from_str(&out).unwrap())
}

/// The digest that refers to `disclosure`.
fn digest(disclosure: &Json) -> String {
    base64url::encode(PROVIDER.hash(HashAlg::Sha256, disclosure.to_string().as_bytes()).as_bytes())
}

fn hidden(digest: impl Into<String>) -> Json {
    json!({"...": digest.into()})
}

fn example() -> Json {
    json!({
        "name": "A", "address": {"street": "S"}, "degrees": [{"type": "B"}, {"type": "M"}],
        "nationalities": ["X", "Y"], "mixed": [{"type": "B"}, "M"], "empty": [], "nothing": null,
    })
}

#[test]
fn each_row_of_the_table_selects_its_values() {
    for (path, expected) in [
        (r#"["name"]"#, Some(json!("A"))),
        (r#"["address"]"#, Some(json!({"street": "S"}))),
        (r#"["address","street"]"#, Some(json!("S"))),
        (r#"["degrees",null,"type"]"#, Some(json!(["B", "M"]))),
        (r#"["degrees",null]"#, Some(json!([{"type": "B"}, {"type": "M"}]))),
        (r#"["nationalities",null]"#, Some(json!(["X", "Y"]))),
        (r#"["nationalities"]"#, Some(json!(["X", "Y"]))),
        (r#"["nothing"]"#, Some(json!(null))),
        (r#"["name","x"]"#, None),
        (r#"["address",null]"#, None),
        (r#"["nope"]"#, None),
        (r#"["address","nope"]"#, None),
        (r#"["nationalities","x"]"#, None),
        (r#"["nationalities",null,"x"]"#, None),
        (r#"["nationalities",null,null]"#, None),
        (r#"["mixed",null,"type"]"#, None),
        (r#"["empty",null]"#, None),
        (r#"["degrees",null,"nope"]"#, None),
    ] {
        assert_eq!(selected(&example(), &[], path), expected, "{path}");
    }
}

#[test]
fn elements_without_the_member_are_dropped() {
    let payload = json!({"degrees": [{"type": "B"}, {"name": "x"}, {"type": "M"}]});
    assert_eq!(selected(&payload, &[], r#"["degrees",null,"type"]"#), Some(json!(["B", "M"])));
}

#[test]
fn disclosed_parts_are_found_and_hidden_ones_are_not() {
    let (locality, german) = (json!(["s", "locality", "Berlin"]), json!(["s", "DE"]));
    let street = json!(["s", "street", "S"]);
    let payload = json!({
        "address": {"_sd": [digest(&locality), digest(&street)]},
        "nationalities": [hidden(digest(&german)), hidden("A".repeat(43)), "FR"],
    });
    let disclosures = [locality, german];
    for (path, expected) in [
        (r#"["address","locality"]"#, Some(json!("Berlin"))),
        (r#"["address","street"]"#, None),
        (r#"["nationalities",null]"#, Some(json!(["DE", "FR"]))),
    ] {
        assert_eq!(selected(&payload, &disclosures, path), expected, "{path}");
    }
}

#[test]
fn an_array_without_its_hidden_elements_selects_nothing() {
    let payload = json!({
        "nationalities": [hidden("A".repeat(43)), hidden("B".repeat(43))],
        "degrees": [{"_sd": ["C".repeat(43)]}, {"_sd": ["D".repeat(43)]}],
        "address": {"_sd": ["E".repeat(43)]},
    });
    for path in [
        r#"["nationalities",null]"#,
        r#"["nationalities"]"#,
        r#"["degrees",null]"#,
        r#"["degrees",null,"type"]"#,
        r#"["address"]"#,
    ] {
        assert_eq!(selected(&payload, &[], path), None, "{path}");
    }
}

#[test]
fn nested_disclosures_are_found() {
    let kind = json!(["s", "type", "B"]);
    let degree = json!(["s", {"_sd": [digest(&kind)]}]);
    let degrees = json!(["s", "degrees", [hidden(digest(&degree)), {"type": "M"}]]);
    let payload = json!({"_sd": [digest(&degrees)]});
    let all = [kind, degree.clone(), degrees.clone()];
    let path = r#"["degrees",null,"type"]"#;
    assert_eq!(selected(&payload, &all, path), Some(json!(["B", "M"])));
    assert_eq!(selected(&payload, &[degree, degrees], path), Some(json!(["M"])));
}

#[test]
fn the_root_has_no_members_of_the_format() {
    let payload = json!({"_sd_alg": "sha-256", "_sd": [], "a": 1});
    for name in ["_sd_alg", "_sd"] {
        assert!(ClaimPath::from_json(&format!("[{name:?}]")).is_err());
    }
    assert_eq!(selected(&payload, &[], r#"["a"]"#), Some(json!(1)));
}
