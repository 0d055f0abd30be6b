//! Rules 9 to 17: disclosures and their digests.

use super::*;

#[test]
fn rule_09_the_digest_is_that_of_the_text_as_received() {
    let case = Case::new();
    let respelled = |text: &str| {
        let bytes = idgate_testkit::codec::from_base64url(text).unwrap();
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        base64url(serde_json::to_string_pretty(&json).unwrap().as_bytes())
    };
    let verdict =
        case.present_disclosures(|disclosures| disclosures[0] = respelled(&disclosures[0]));
    refused(verdict, Reason::DigestMismatch);
}

#[test]
fn rule_10_disclosures_have_the_form_of_their_place() {
    let case = Case::new();
    let with = |text: &str| {
        case.present(&case.unsigned(|unsigned| unsigned.replace_disclosure("given_name", text)))
    };
    for bad in [
        "[]",
        r#"["salt"]"#,
        r#"["salt","Erika"]"#,
        r#"["salt","given_name","Erika",1]"#,
        r#"[1,"given_name","Erika"]"#,
        r#"["salt",1,"Erika"]"#,
        r#"[null,"given_name","Erika"]"#,
        r#"{"salt":"given_name"}"#,
        r#""text""#,
        "1",
        "not json",
        r#"["salt","given_name","Erika"] "x""#,
        r#"["salt","given_name",{"a":1,"a":2}]"#,
        r#"["salt","given_name",1e400]"#,
    ] {
        malformed(with(bad));
    }
    accepted(with(r#"["", "given_name", "Erika"]"#));
}

#[test]
fn rule_10_a_member_does_not_stand_for_an_element() {
    let case = Case::new();
    let member = Disclosure::of_text(r#"["salt","given_name","x"]"#);
    let credential = case.unsigned(|unsigned| {
        let digest = member.digest(HashAlg::Sha256);
        unsigned.payload.insert("list".into(), json!([{ "...": digest }]));
        unsigned.disclosures.push(member.clone());
    });
    malformed(case.present(&credential));
}

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

#[test]
fn rule_11_sd_is_an_array_of_strings() {
    let case = Case::new();
    for bad in [
        json!("digest"),
        json!({}),
        json!(1),
        Value::Null,
        json!([1]),
        json!([null]),
        json!([["x"]]),
    ] {
        malformed(case.present(&case.unsigned(|unsigned| {
            unsigned.disclosures.clear();
            unsigned.payload.insert("_sd".into(), bad);
        })));
    }
}

#[test]
fn rule_12_disclosed_names_are_new_and_not_reserved() {
    let case = Case::new();
    for name in ["_sd", "...", "_sd_alg", "iat", "family_name"] {
        let text = format!(r#"["salt","{name}","x"]"#);
        malformed(case.present(&case.unsigned(|u| u.add_disclosure(&text))));
    }
    let escaped = r#"["salt","family\u005fname","x"]"#;
    malformed(case.present(&case.unsigned(|u| u.add_disclosure(escaped))));
}

#[test]
fn rule_13_no_digest_appears_twice() {
    let case = Case::new();
    let twice_in_sd = case.unsigned(|u| u.edit_sd(|sd| sd.push(sd[0].clone())));
    malformed(case.present(&twice_in_sd));
    let at_another_place = case.unsigned(|u| {
        let digest = u.payload["_sd"][0].clone();
        u.payload.insert("other".into(), json!({ "_sd": [digest] }));
    });
    malformed(case.present(&at_another_place));
    let decoys = case.unsigned(|u| u.edit_sd(|sd| sd.extend([json!("decoy"), json!("decoy")])));
    malformed(case.present(&decoys));
}

/// Each level refers to the next one twice: work would double 30 times.
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
fn rule_13_a_disclosure_is_not_presented_twice() {
    let case = Case::new();
    malformed(case.present_disclosures(|disclosures| disclosures.push(disclosures[0].clone())));
}

#[test]
fn rule_14_every_disclosure_is_referenced() {
    let case = Case::new();
    let foreign = Disclosure::of_text(r#"["salt","age_over_18",true]"#).text;
    refused(case.present_disclosures(|d| d.push(foreign.clone())), Reason::DigestMismatch);
    let forged = Disclosure::of_text(r#"["salt","given_name","Mallory"]"#).text;
    refused(case.present_disclosures(|d| d[0] = forged), Reason::DigestMismatch);
    accepted(case.present_disclosures(|d| d.reverse()));
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

#[test]
fn rule_16_digest_members_stand_nowhere_else() {
    let case = Case::new();
    for (name, value) in [
        ("...", json!("digest")),
        ("nested", json!({ "...": "digest" })),
        ("nested", json!({ "_sd_alg": "sha-256" })),
        ("list", json!([{ "...": "digest", "other": 1 }])),
        ("list", json!([{ "...": 1 }])),
        ("list", json!([{ "other": 1, "...": "digest" }])),
    ] {
        malformed(case.present(&case.unsigned(|u| drop(u.payload.insert(name.into(), value)))));
    }
    let inside = r#"["salt","extra",{"_sd_alg":"sha-256"}]"#;
    malformed(case.present(&case.unsigned(|u| u.add_disclosure(inside))));
}

#[test]
fn rule_17_security_claims_are_never_selectively_disclosed() {
    let case = Case::new();
    for name in ["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"] {
        let text = json!(["salt", name, "x"]).to_string();
        let credential = case.unsigned(|u| {
            if !["cnf", "vct"].contains(&name) {
                u.payload.remove(name);
            }
            u.add_disclosure(&text);
        });
        assert!(case.present(&credential).is_err(), "{name}");
    }
    let hidden = case.credential().without("iss").sd("iss", ISSUER).issue(&case.issuer);
    malformed(case.present(&hidden));
    let inside_cnf = case.unsigned(|u| {
        let jwk = u.payload["cnf"]["jwk"].clone();
        u.payload.insert("cnf".into(), json!({ "jwk": jwk, "_sd": ["digest"] }));
    });
    malformed(case.present(&inside_cnf));
    for name in ["sub", "iat"] {
        accepted(case.present(&case.credential().sd(name, NOW - 5).issue(&case.issuer)));
    }
}
