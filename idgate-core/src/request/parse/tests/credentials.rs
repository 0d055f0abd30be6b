//! The fields of a credential, and the groups that compare credentials.

use super::*;

#[test]
fn one_to_ten_credentials_are_accepted() {
    let credential = json!({"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"]});
    let body = |n: usize| json!({"credentials": vec![credential.clone(); n]});
    assert_eq!(request(body(10)).credentials[9].id, "credential_10");
    for bad in [body(0), body(11), json!({"credentials": {}}), json!({"credentials": "x"})] {
        invalid(&bad, "credentials");
    }
    invalid(&json!({"credentials": [1]}), "credentials[0]");
    invalid(&json!({"credentials": [credential, []]}), "credentials[1]");
}

#[test]
fn formats_outside_the_enumeration_are_unsupported() {
    for format in ["", "dc+sd_jwt", "jwt_vc", "VC+SD-JWT", "vc+sd-jwt "] {
        refused(&legacy(json!({"format": format})), "unsupported_format", "format");
        refused(&sd_jwt(json!({"format": format})), "unsupported_format", "credentials[0].format");
    }
    invalid(&sd_jwt(json!({"format": 1})), "credentials[0].format");
}

#[test]
fn dc_sd_jwt_means_the_same_as_vc_sd_jwt() {
    for body in [sd_jwt, legacy] {
        let of = |format: &str| first(body(json!({"format": format})));
        assert_eq!(format!("{:?}", of("dc+sd-jwt")), format!("{:?}", of("vc+sd-jwt")));
        assert_eq!(of("dc+sd-jwt").format.name(), "vc+sd-jwt");
    }
}

#[test]
fn a_claim_of_another_form_is_refused_with_a_pointer_to_claim_paths() {
    for claim in ["age_equal_or_over.18", "given-name"] {
        let message = invalid(&sd_jwt(json!({"claims": [claim]})), "credentials[0].claims[0]");
        assert!(message.contains("claim_paths"), "{message}");
    }
}

#[test]
fn claims_match_their_pattern() {
    invalid(&sd_jwt(json!({"claims": []})), "credentials[0].claims");
    invalid(&sd_jwt(json!({"claims": "a"})), "credentials[0].claims");
    for claim in [
        json!(""),
        json!("a b"),
        json!("a.b"),
        json!("a\n"),
        json!("é"),
        json!("a-b"),
        json!(1),
        json!(null),
    ] {
        invalid(&sd_jwt(json!({"claims": ["A_9", "b", claim]})), "credentials[0].claims[2]");
    }
}

#[test]
fn at_most_100_claims_are_accepted_and_repeated_ones_count_once() {
    let names = |n: usize| (0..n).map(|i| format!("c{i}")).collect::<Vec<_>>();
    let mut claims = names(100);
    claims.extend(names(100));
    assert_eq!(first(sd_jwt(json!({"claims": claims}))).claims, names(100));
    invalid(&sd_jwt(json!({"claims": names(101)})), "credentials[0].claims");
}

#[test]
fn ids_have_1_to_128_characters_and_are_unique() {
    assert_eq!(first(sd_jwt(json!({"id": "é".repeat(128)}))).id.chars().count(), 128);
    for id in [json!(""), json!("é".repeat(129)), json!(1)] {
        invalid(&sd_jwt(json!({"id": id})), "credentials[0].id");
    }
    invalid(&pair(json!({}), json!({"id": "b"})), "credentials[1].id");
    let mut body = pair(json!({}), json!({"id": "credential_2"}));
    body["credentials"][1].as_object_mut().unwrap().remove("id");
    invalid(&body, "credentials[1].id");
}

#[test]
fn alg_is_one_of_three() {
    for alg in [json!("ES256K"), json!("es256"), json!("none"), json!(""), json!(["ES256"])] {
        invalid(&sd_jwt(json!({"alg": alg})), "credentials[0].alg");
    }
}

#[test]
fn namespace_and_doc_type_are_refused_for_sd_jwt() {
    for name in ["namespace", "doc_type"] {
        invalid(&sd_jwt(json!({name: "org.iso.18013.5.1"})), &format!("credentials[0].{name}"));
    }
}

#[test]
fn claim_filters_are_for_claims_of_the_same_credential() {
    invalid(&sd_jwt(json!({"claim_filters": {"b": {}}})), "credentials[0].claim_filters.b");
    invalid(&sd_jwt(json!({"claim_filters": {"b c": {}}})), "credentials[0].claim_filters");
    invalid(&sd_jwt(json!({"claim_filters": []})), "credentials[0].claim_filters");
    invalid(&sd_jwt(json!({"claim_filters": {"a": true}})), "credentials[0].claim_filters.a");
    invalid(
        &sd_jwt(json!({"claim_filters": {"a": {"not": {}}}})),
        "credentials[0].claim_filters.a.not",
    );
    let body = sd_jwt(json!({"claim_filters": {"a": {"minimum": "1"}}}));
    invalid(&body, "credentials[0].claim_filters.a.minimum");
}

#[test]
fn a_request_has_at_most_32_patterns() {
    let body = |first: usize, second: usize| {
        let credential = |patterns: usize| {
            let names: Vec<String> = (0..patterns).map(|n| format!("c{n}")).collect();
            let filters = names.iter().map(|name| (name.clone(), json!({"pattern": "^a"})));
            json!({"claims": names, "claim_filters": Value::Object(filters.collect())})
        };
        let mut body = pair(json!({}), credential(first));
        body["credentials"][1] = changed(body["credentials"][1].take(), credential(second));
        body
    };
    assert!(parse(&body(20, 12).to_string(), true).is_ok());
    // Members in document order: c9 is the last of 13.
    invalid(&body(20, 13), "credentials[1].claim_filters.c9.pattern");
    let mut long = body(9, 0);
    long["credentials"][1]["claims"] = json!(["x"]);
    for n in 0..9 {
        long["credentials"][0]["claim_filters"][format!("c{n}")]["pattern"] =
            json!("a".repeat(256));
    }
    invalid(&long, "credentials[0].claim_filters.c8.pattern");
}

#[test]
fn subject_claim_paths_are_dotted_names() {
    let path = "credentials[0].subject_claim_paths";
    invalid(&sd_jwt(json!({"subject_claim_paths": "a"})), path);
    invalid(&sd_jwt(json!({"subject_claim_paths": vec!["a"; 101]})), path);
    for bad in [json!(""), json!("a..b"), json!("$.a"), json!("a[0]"), json!(1)] {
        let body = sd_jwt(json!({"subject_claim_paths": ["a.b", bad]}));
        invalid(&body, &format!("{path}[1]"));
    }
    let body = mdoc(json!({"subject_claim_paths": ["a", "a.b"]}));
    invalid(&body, &format!("{path}[1]"));
}

#[test]
fn groups_name_two_or_more_ids_of_the_request_once() {
    let group = |group: Value| pair(json!({"same_subject_groups": [["a", "b"], group]}), json!({}));
    invalid(&group(json!([])), "same_subject_groups[1]");
    invalid(&group(json!(["a"])), "same_subject_groups[1]");
    invalid(&group(json!("ab")), "same_subject_groups[1]");
    invalid(&group(json!(["a", "c"])), "same_subject_groups[1][1]");
    invalid(&group(json!(["a", "a"])), "same_subject_groups[1][1]");
    invalid(&group(json!(["a", 1])), "same_subject_groups[1][1]");
    invalid(&pair(json!({"same_subject_groups": {}}), json!({})), "same_subject_groups");
    assert!(
        request(pair(json!({"same_subject_groups": []}), json!({}))).same_subject_groups.is_empty()
    );
}

#[test]
fn a_group_is_compared_by_name_and_birth_date_by_default() {
    let grouped = json!({"same_subject_groups": [["a", "b"]]});
    let defaults = ["family_name", "given_name", "birthdate"].map(SubjectPath::top_level);
    for credential in request(pair(grouped.clone(), json!({}))).credentials {
        assert_eq!(credential.subject_claim_paths, defaults);
    }
    let path = "credentials[0].subject_claim_paths";
    invalid(&pair(grouped.clone(), json!({"subject_claim_paths": []})), path);
    let text = invalid(
        &pair(grouped, json!({"subject_claim_paths": ["x", "y"]})),
        "credentials[1].subject_claim_paths",
    );
    assert!(text.contains("same_subject_groups[0]"));
}

#[test]
fn subject_claim_paths_are_ignored_outside_a_group() {
    for paths in [json!([]), json!(["x", "y"])] {
        let request = request(pair(json!({}), json!({"subject_claim_paths": paths})));
        assert!(request.credentials.iter().all(|asked| asked.subject_claim_paths.is_empty()));
    }
}
