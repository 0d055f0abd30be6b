//! Rules 18 to 20: audience, status and the requested claims.

use super::*;

#[test]
fn rule_18_aud_of_the_credential_must_include_the_verifier() {
    let case = Case::new();
    let with = |aud: Value| case.present(&case.credential().plain("aud", aud).issue(&case.issuer));
    accepted(with(json!(AUDIENCE)));
    accepted(with(json!(["https://other.example", AUDIENCE])));
}

#[test]
fn rule_19_a_result_says_that_the_status_was_not_checked() {
    let mut case = Case::new();
    let status = json!({ "status_list": { "idx": 1, "uri": "https://issuer.example/status" } });
    let published = case.credential().plain("status", status).issue(&case.issuer);
    case.trust.revocation = RevocationPolicy::Off;
    assert_eq!(accepted(case.present(&published)).revocation().name(), "off");
}

#[test]
fn rule_20_exactly_the_requested_claims_are_returned() {
    let mut case = Case::new();
    let credential = case.credential().issue(&case.issuer);
    let verified = accepted(case.present(&credential));
    assert_eq!(verified.claims().names().collect::<Vec<_>>(), ["given_name"]);
    for missing in ["_sd", "_sd_alg"] {
        case.claims = vec![missing.into()];
        refused(case.present(&credential), Reason::ClaimMissing);
    }
}

/// A claim whose parts were all withheld is an empty shell, at any depth.
#[test]
fn rule_20_a_claim_of_which_nothing_is_disclosed_is_missing() {
    let mut case = Case::new();
    case.claims = vec!["asked".into()];
    let street = || Claim::object().sd("street", "Heidestraße 17");
    let visible = |disclosure: &Disclosure| {
        disclosure.path.len() == 1 || disclosure.path.last() == Some(&Segment::Name("home".into()))
    };
    for hollow in [
        street(),
        Claim::array().sd_element("DE").sd_element("FR"),
        Claim::object().plain("home", street()),
        Claim::object().sd("home", street()),
        Claim::array().plain_element(street()),
        Claim::array().plain_element(Claim::array().sd_element(1)),
        Claim::object().plain("home", street()).plain("work", street()),
    ] {
        for credential in [
            case.credential().plain("asked", hollow.clone()),
            case.credential().sd("asked", hollow.clone()),
        ] {
            let credential = credential.issue(&case.issuer);
            accepted(case.present(&credential));
            refused(case.present_choosing(&credential, visible), Reason::ClaimMissing);
        }
    }
}

#[test]
fn rule_20_empty_values_from_the_issuer_count_as_disclosed() {
    let mut case = Case::new();
    case.claims = vec!["asked".into()];
    for (honest, shown) in [
        (Claim::from(json!({})), "{}"),
        (Claim::from(json!([])), "[]"),
        (Claim::from(Value::Null), "null"),
        (Claim::from(json!([null, {}])), "[null,{}]"),
        (Claim::object().sd("home", "x").plain("work", false), r#"{"work":false}"#),
        (Claim::array().sd_element("DE").plain_element(0), "[0]"),
        (Claim::array().sd_element("DE").plain_element(""), r#"[""]"#),
        (Claim::array().sd_element("DE").plain_element(Value::Null), "[null]"),
        (Claim::array().sd_element("DE").plain_element(json!({})), "[{}]"),
        (Claim::object().sd("home", "x").plain("rooms", json!([])), r#"{"rooms":[]}"#),
    ] {
        for credential in [
            case.credential().plain("asked", honest.clone()),
            case.credential().sd("asked", honest.clone()),
        ] {
            let credential = credential.issue(&case.issuer);
            let verdict = case.present_choosing(&credential, |shown| shown.path.len() == 1);
            assert_eq!(accepted(verdict).claims().as_json(), format!(r#"{{"asked":{shown}}}"#));
        }
    }
}
