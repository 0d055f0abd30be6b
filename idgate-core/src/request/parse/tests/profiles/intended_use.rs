//! `intended_use`: the registration certificate that goes with the request.

use super::*;

fn spoken(names: &[&str]) -> SpokenProfiles {
    let names = names.iter().map(|name| String::from(*name));
    SpokenProfiles::new(ALL).with_intended_uses(names)
}

fn with(name: &Value) -> Value {
    pair(json!({"intended_use": name}), json!({}))
}

#[test]
fn an_intended_use_is_known_only_if_certificates_are_stored() {
    refused_by(&SpokenProfiles::new(ALL), &with(&json!("age")), "unknown_field", "intended_use");
    for body in [with(&json!("age")), legacy(json!({"intended_use": "age"}))] {
        let request = parse_with(&body, &trust(), &spoken(&["default", "age"])).unwrap();
        assert_eq!(request.intended_use(), Some("age"));
        assert!(!request.has_newer_fields);
    }
    let without = parse_with(&pair(json!({}), json!({})), &trust(), &spoken(&["age"])).unwrap();
    assert_eq!(without.intended_use(), None);
}

#[test]
fn an_intended_use_must_be_registered() {
    let said = refused_by(
        &spoken(&["age", "bank_1"]),
        &with(&json!("bank")),
        "invalid_request",
        "intended_use",
    );
    assert!(said.ends_with("is not registered; there are: age, bank_1"), "{said}");
    let said = refused_by(&spoken(&[]), &with(&json!("age")), "invalid_request", "intended_use");
    assert!(said.contains("is for clients with a registration certificate"), "{said}");
}

#[test]
fn an_intended_use_is_a_text() {
    for bad in [json!(null), json!(1), json!(["age"]), json!({})] {
        refused_by(&spoken(&["age"]), &with(&bad), "invalid_request", "intended_use");
    }
}
