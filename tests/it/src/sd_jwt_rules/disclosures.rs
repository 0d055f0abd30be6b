//! Rules 11 to 15: disclosures at any depth.

use super::*;

#[test]
fn rule_11_digests_are_found_at_every_depth() {
    let mut case = Case::new();
    case.claims = vec!["address".into(), "nationalities".into()];
    let inner = Claim::object().sd("street", "Heidestraße 17").plain("country", "DE");
    let credential = case
        .credential()
        .sd("address", Claim::object().sd("home", inner).plain("kind", "postal"))
        .plain(
            "nationalities",
            Claim::array()
                .sd_element("DE")
                .plain_element("FR")
                .sd_element(Claim::object().sd("code", "IT")),
        )
        .decoys(3)
        .issue(&case.issuer);
    let claims = accepted(case.present(&credential)).claims().as_json().to_owned();
    let claims: Value = serde_json::from_str(&claims).unwrap();
    let expected = json!({
        "address": { "kind": "postal", "home": { "country": "DE", "street": "Heidestraße 17" } },
        "nationalities": ["DE", "FR", { "code": "IT" }],
    });
    assert_eq!(claims, expected);
}

/// Each level refers to the next one twice, so the work would double 30 times.
#[test]
fn rule_13_nested_repetition_does_not_multiply_the_work() {
    let case = Case::new();
    let credential = case.unsigned(|u| {
        let mut value = json!("deep");
        for level in 0..30 {
            let name = format!("level{level}");
            let disclosure = Disclosure::of_text(&json!(["salt", name, value]).to_string());
            let digest = disclosure.digest(HashAlg::Sha256);
            u.disclosures.push(disclosure);
            value = json!({ "a": { "_sd": [digest] }, "b": { "_sd": [digest] } });
        }
        u.payload.insert("tower".into(), value);
    });
    assert!(case.present(&credential).is_err());
}

#[test]
fn rule_15_decoys_and_withheld_digests_leave_no_trace() {
    let mut case = Case::new();
    case.claims = vec!["address".into(), "list".into()];
    let credential = case
        .credential()
        .plain("address", Claim::object().sd("street", "x").plain("country", "DE"))
        .plain("list", Claim::array().sd_element(1).plain_element(2))
        .decoys(5)
        .issue(&case.issuer);
    let verified = accepted(case.present_choosing(&credential, |_| false));
    assert_eq!(verified.claims().as_json(), r#"{"address":{"country":"DE"},"list":[2]}"#);
}
