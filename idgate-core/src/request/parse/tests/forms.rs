//! The two forms, their defaults, and the fields that concern the whole request.

use super::*;

#[test]
fn the_legacy_form_gets_its_defaults() {
    let request = request(legacy(json!({})));
    assert_eq!(request.form, RequestForm::Legacy);
    assert_eq!((request.ttl_ms, request.redirect_uri.as_deref()), (300_000, None));
    assert!(request.same_subject_groups.is_empty());
    let [credential] = request.credentials.as_slice() else { unreachable!() };
    assert_eq!(credential.id, "credential_1");
    assert_eq!(credential.format, CredentialFormat::SdJwtVc);
    assert_eq!(credential.claims, ["given_name", "age"]);
    assert_eq!(credential.vct, ["urn:one"]);
}

#[test]
fn the_legacy_form_takes_its_fields() {
    let body = legacy(json!({
        "format": "vc+sd-jwt", "ttl_ms": 60000, "redirect_uri": "https://shop.example/done?x=1#y",
    }));
    let request = request(body);
    assert_eq!(request.ttl_ms, 60_000);
    assert_eq!(request.redirect_uri.as_deref(), Some("https://shop.example/done?x=1#y"));
}

#[test]
fn the_custom_form_takes_every_field() {
    let request = request(json!({
        "ttl_ms": 86_400_000,
        "credentials": [
            {"format": "vc+sd-jwt", "issuer_id": "https://one.example", "claims": ["b", "a", "b"],
             "id": "é", "alg": "ES384", "subject_claim_paths": ["address.country"],
             "claim_filters": {"a": {"const": 1}, "b": {}}},
            {"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"], "subject_claim_paths": ["c"]},
        ],
        "same_subject_groups": [["é", "credential_2"], ["credential_2", "é"]],
        "redirect_uri": "app://done",
    }));
    assert_eq!((request.form, request.ttl_ms), (RequestForm::Custom, 86_400_000));
    assert_eq!(request.same_subject_groups, [["é", "credential_2"], ["credential_2", "é"]]);
    let [one, two] = request.credentials.as_slice() else { unreachable!() };
    assert_eq!((one.id.as_str(), one.alg), ("é", Some(Alg::Es384)));
    assert_eq!(one.claims, ["b", "a"]);
    assert_eq!(one.subject_claim_paths[0].segments(), ["address", "country"]);
    let filtered: Vec<_> = one.claim_filters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(filtered, ["a", "b"]);
    assert_eq!((two.id.as_str(), two.alg), ("credential_2", None));
    assert_eq!(two.vct, ["urn:a", "urn:b"]);
}

#[test]
fn a_body_that_is_not_strict_json_is_invalid_json() {
    for body in ["", "{", "{'a':1}", "{\"issuer_id\":\"two\"}x", "\u{feff}{}", "{\"ttl_ms\":1e999}"]
    {
        let error = parse(body, true).unwrap_err();
        assert_eq!((error.code.as_str(), error.path.as_str()), ("invalid_json", ""), "{body}");
    }
    let deep = format!("{{\"credentials\":{}{}}}", "[".repeat(40), "]".repeat(40));
    assert_eq!(parse(&deep, true).unwrap_err().code, ErrorCode::InvalidJson);
    let bytes = PresentationRequest::parse(b"{\"issuer_id\":\"\xff\"}", &trust(), true);
    assert_eq!(bytes.unwrap_err().code, ErrorCode::InvalidJson);
}

#[test]
fn a_repeated_member_is_invalid_json() {
    for body in [
        r#"{"issuer_id":"two","issuer_id":"two"}"#,
        r#"{"issuer_id":"two","\u0069ssuer_id":"x"}"#,
        r#"{"credentials":[{"format":"vc+sd-jwt","format":"vc+sd-jwt"}]}"#,
    ] {
        let error = parse(body, true).unwrap_err();
        assert_eq!(error.to_string(), "the request body names a JSON member twice");
    }
}

#[test]
fn a_body_over_64_kib_is_refused() {
    let body = |n: usize| format!("{{\"issuer_id\":\"https://one.example\"{}}}", " ".repeat(n));
    let around = body(0).len();
    assert!(parse(&body(MAX_CREATE_BYTES - around), true).is_ok());
    let error = parse(&body(MAX_CREATE_BYTES - around + 1), true).unwrap_err();
    assert_eq!((error.code, error.path.as_str()), (ErrorCode::InvalidRequest, ""));
}

#[test]
fn a_body_that_is_not_an_object_is_refused() {
    for body in [json!([]), json!(null), json!("x"), json!(1)] {
        assert_eq!(invalid(&body, ""), "the request body must be a JSON object");
    }
}

#[test]
fn exactly_one_form_must_be_chosen() {
    invalid(&json!({}), "");
    invalid(&json!({"ttl_ms": 60000}), "");
    invalid(&json!({"issuer_id": "two", "credentials": []}), "");
    invalid(&json!({"issuer_id": null, "credentials": null}), "");
}

#[test]
fn unknown_fields_are_refused_in_both_forms() {
    let unknown = |body: &Value, path: &str| refused(body, "unknown_field", path);
    unknown(&json!({"foo": 1}), "foo");
    unknown(&legacy(json!({"claims": ["a"]})), "claims");
    unknown(&legacy(json!({"same_subject_groups": []})), "same_subject_groups");
    unknown(&pair(json!({"format": "vc+sd-jwt"}), json!({})), "format");
    unknown(&pair(json!({"Ttl_ms": 60000}), json!({})), "Ttl_ms");
    unknown(&sd_jwt(json!({"purpose": "x"})), "credentials[0].purpose");
    unknown(&sd_jwt(json!({"ttl_ms": 60000})), "credentials[0].ttl_ms");
    let long = "x".repeat(100);
    unknown(&json!({long.clone(): 1}), &long[..64]);
}

#[test]
fn unknown_fields_are_reported_before_other_mistakes() {
    refused(&legacy(json!({"ttl_ms": "x", "foo": 1})), "unknown_field", "foo");
    let body = json!({"credentials": [{"format": 1}, {"foo": 1}]});
    refused(&body, "unknown_field", "credentials[1].foo");
}

#[test]
fn null_is_a_value_of_the_wrong_type() {
    for name in ["issuer_id", "ttl_ms", "format", "redirect_uri"] {
        invalid(&legacy(json!({name: null})), name);
    }
    for name in ["credentials", "same_subject_groups", "ttl_ms", "redirect_uri"] {
        invalid(&pair(json!({name: null}), json!({})), name);
    }
    for name in
        ["format", "issuer_id", "claims", "id", "alg", "subject_claim_paths", "claim_filters"]
    {
        invalid(&sd_jwt(json!({name: null})), &format!("credentials[0].{name}"));
    }
    for name in ["namespace", "doc_type"] {
        invalid(&mdoc(json!({name: null})), &format!("credentials[0].{name}"));
    }
}

#[test]
fn required_fields_are_required() {
    for name in ["format", "issuer_id", "claims"] {
        let mut body = sd_jwt(json!({}));
        body["credentials"][0].as_object_mut().unwrap().remove(name);
        let text = invalid(&body, &format!("credentials[0].{name}"));
        assert!(text.ends_with("is required"));
    }
}

#[test]
fn ttl_ms_has_a_range() {
    for ttl in [
        json!(59_999),
        json!(86_400_001),
        json!(0),
        json!(-1),
        json!(300_000.5),
        json!("300000"),
        json!(true),
    ] {
        invalid(&legacy(json!({"ttl_ms": ttl})), "ttl_ms");
        invalid(&pair(json!({"ttl_ms": ttl}), json!({})), "ttl_ms");
    }
    assert_eq!(request(legacy(json!({"ttl_ms": 60_000.0}))).ttl_ms, 60_000);
}

#[test]
fn redirect_uri_must_be_absolute_and_harmless() {
    for uri in [
        json!(""),
        json!("/x"),
        json!("JavaScript:alert(1)"),
        json!("data:,x"),
        json!("file:///x"),
        json!(1),
    ] {
        invalid(&legacy(json!({"redirect_uri": uri})), "redirect_uri");
        invalid(&pair(json!({"redirect_uri": uri}), json!({})), "redirect_uri");
    }
}
