//! Both forms of a session request: what is taken, which defaults it gets, and one refusal per
//! rule of specification 2 and 8 and of decisions 4.

use serde_json::{Value, json};

use super::*;
use crate::crypto::Alg;
use crate::request::fixtures::{request, trust};
use crate::request::{ClaimPath, CredentialFormat, CredentialRequest};

fn parse(body: &str, livemode: bool) -> Result<PresentationRequest, RequestError> {
    PresentationRequest::parse(body.as_bytes(), &trust(), livemode)
}

/// Asserts that `body` is refused with this code at this path.
#[track_caller]
fn refused(body: &Value, code: &str, path: &str) -> String {
    let error = parse(&body.to_string(), true).expect_err(&body.to_string());
    assert_eq!((error.code.as_str(), error.path.as_str()), (code, path), "{body}: {error}");
    error.to_string()
}

#[track_caller]
fn invalid(body: &Value, path: &str) -> String {
    refused(body, "invalid_request", path)
}

/// A custom request of one good SD-JWT VC with these members changed; `null` stays `null`.
fn sd_jwt(changes: Value) -> Value {
    let base = json!({"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"]});
    json!({"credentials": [changed(base, changes)]})
}

fn mdoc(changes: Value) -> Value {
    let base = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    json!({"credentials": [changed(base, changes)]})
}

fn changed(mut base: Value, changes: Value) -> Value {
    base.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    base
}

fn legacy(changes: Value) -> Value {
    changed(json!({"issuer_id": "https://one.example"}), changes)
}

fn first(body: Value) -> CredentialRequest {
    request(body).credentials.remove(0)
}

/// Two good SD-JWT VCs `a` and `b` with these members at top level and in the first.
fn pair(top: Value, first: Value) -> Value {
    let credential =
        |id: &str| json!({"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["x"], "id": id});
    changed(json!({"credentials": [changed(credential("a"), first), credential("b")]}), top)
}

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
             "id": "é", "alg": "ES512", "subject_claim_paths": ["address.country"],
             "claim_filters": {"a": {"const": 1}, "b": {}}},
            {"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"], "subject_claim_paths": ["c"]},
        ],
        "same_subject_groups": [["é", "credential_2"], ["credential_2", "é"]],
        "redirect_uri": "app://done",
    }));
    assert_eq!((request.form, request.ttl_ms), (RequestForm::Custom, 86_400_000));
    assert_eq!(request.same_subject_groups, [["é", "credential_2"], ["credential_2", "é"]]);
    let [one, two] = request.credentials.as_slice() else { unreachable!() };
    assert_eq!((one.id.as_str(), one.alg), ("é", Some(Alg::Es512)));
    assert_eq!(one.claims, ["b", "a"]);
    assert_eq!(one.subject_claim_paths[0].segments(), ["address", "country"]);
    let filtered: Vec<_> = one.claim_filters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(filtered, ["a", "b"]);
    assert_eq!((two.id.as_str(), two.alg), ("credential_2", None));
    assert_eq!(two.vct, ["urn:a", "urn:b"]);
}

#[test]
fn a_body_that_is_no_strict_json_is_invalid_json() {
    for body in ["", "{", "{'a':1}", "{\"issuer_id\":\"two\"}x", "\u{feff}{}", "{\"ttl_ms\":1e999}"]
    {
        let error = parse(body, true).unwrap_err();
        assert_eq!((error.code.as_str(), error.path.as_str()), ("invalid_json", ""), "{body}");
    }
    let deep = alloc::format!("{{\"credentials\":{}{}}}", "[".repeat(40), "]".repeat(40));
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
    let body =
        |n: usize| alloc::format!("{{\"issuer_id\":\"https://one.example\"{}}}", " ".repeat(n));
    let around = body(0).len();
    assert!(parse(&body(MAX_CREATE_BYTES - around), true).is_ok());
    let error = parse(&body(MAX_CREATE_BYTES - around + 1), true).unwrap_err();
    assert_eq!((error.code, error.path.as_str()), (ErrorCode::InvalidRequest, ""));
}

#[test]
fn a_body_that_is_no_object_is_refused() {
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
        invalid(&sd_jwt(json!({name: null})), &alloc::format!("credentials[0].{name}"));
    }
    for name in ["namespace", "doc_type"] {
        invalid(&mdoc(json!({name: null})), &alloc::format!("credentials[0].{name}"));
    }
}

#[test]
fn required_fields_are_required() {
    for name in ["format", "issuer_id", "claims"] {
        let mut body = sd_jwt(json!({}));
        body["credentials"][0].as_object_mut().unwrap().remove(name);
        let text = invalid(&body, &alloc::format!("credentials[0].{name}"));
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

#[test]
fn one_to_ten_credentials_are_taken() {
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
    for format in ["", "dc+sd-jwt", "jwt_vc", "VC+SD-JWT", "vc+sd-jwt "] {
        refused(&legacy(json!({"format": format})), "unsupported_format", "format");
        refused(&sd_jwt(json!({"format": format})), "unsupported_format", "credentials[0].format");
    }
    invalid(&sd_jwt(json!({"format": 1})), "credentials[0].format");
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
fn at_most_100_claims_are_taken_and_repeated_ones_count_once() {
    let names = |n: usize| (0..n).map(|i| alloc::format!("c{i}")).collect::<Vec<_>>();
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
        invalid(
            &sd_jwt(json!({name: "org.iso.18013.5.1"})),
            &alloc::format!("credentials[0].{name}"),
        );
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
    // Members in the order of the text: c9 is the last of 13.
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
        invalid(&body, &alloc::format!("{path}[1]"));
    }
    let body = mdoc(json!({"subject_claim_paths": ["a", "a.b"]}));
    invalid(&body, &alloc::format!("{path}[1]"));
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
fn a_group_is_compared_by_name_and_birth_date_unless_told_otherwise() {
    let grouped = json!({"same_subject_groups": [["a", "b"]]});
    let defaults = ["family_name", "given_name", "birthdate"].map(ClaimPath::top_level);
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

#[test]
fn an_issuer_without_entry_is_unknown() {
    refused(&legacy(json!({"issuer_id": "nobody"})), "unknown_issuer", "issuer_id");
    refused(&legacy(json!({"issuer_id": ""})), "unknown_issuer", "issuer_id");
    let body = sd_jwt(json!({"issuer_id": "nobody"}));
    refused(&body, "unknown_issuer", "credentials[0].issuer_id");
    let empty = PresentationRequest::parse(
        sd_jwt(json!({})).to_string().as_bytes(),
        &TrustSnapshot::default(),
        false,
    );
    assert_eq!(empty.unwrap_err().code, ErrorCode::UnknownIssuer);
}

#[test]
fn an_issuer_that_cannot_serve_the_mode_is_unknown() {
    let body = sd_jwt(json!({"issuer_id": "test-only"}));
    refused(&body, "unknown_issuer", "credentials[0].issuer_id");
    assert!(parse(&body.to_string(), false).is_ok());
    refused(&sd_jwt(json!({"issuer_id": "no-keys"})), "unknown_issuer", "credentials[0].issuer_id");
}

#[test]
fn an_mdoc_needs_an_issuer_and_every_rule_is_checked_before() {
    let issuer = "credentials[0].issuer_id";
    refused(&mdoc(json!({})), "unknown_issuer", issuer);
    refused(&mdoc(json!({"doc_type": "eu.europa.ec.eudi.pid.1"})), "unknown_issuer", issuer);
    refused(&mdoc(json!({"doc_type": "x", "namespace": "y"})), "unknown_issuer", issuer);
    refused(&legacy(json!({"format": "mso_mdoc"})), "unknown_issuer", "issuer_id");
    invalid(&mdoc(json!({"doc_type": "x"})), "credentials[0].namespace");
    for (name, bad) in
        [("namespace", "a'b"), ("namespace", ""), ("doc_type", "a\\b"), ("doc_type", "a\n")]
    {
        invalid(&mdoc(json!({name: bad})), &alloc::format!("credentials[0].{name}"));
    }
}

#[test]
fn a_doc_type_outside_the_accepted_ones_is_refused() {
    let documents = |changes: Value| mdoc(changed(json!({"issuer_id": "documents"}), changes));
    invalid(&documents(json!({"doc_type": "org.iso.18013.5.1.mDL"})), "credentials[0].doc_type");
    invalid(&documents(json!({})), "credentials[0].doc_type");
    let known = documents(json!({"doc_type": "org.example.doc"}));
    refused(&known, "unknown_issuer", "credentials[0].issuer_id");
}

#[test]
fn two_credentials_of_one_doc_type_cannot_be_expressed() {
    let mdoc = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    invalid(&json!({"credentials": [mdoc, mdoc]}), "credentials[1].doc_type");
}

#[test]
fn an_sd_jwt_id_equal_to_a_doc_type_cannot_be_expressed() {
    let mdoc = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    let mut body = sd_jwt(json!({"id": "org.iso.18013.5.1.mDL"}));
    body["credentials"].as_array_mut().unwrap().push(mdoc);
    invalid(&body, "credentials[0].id");
}

#[test]
fn the_legacy_form_needs_default_claims() {
    invalid(&legacy(json!({"issuer_id": "two"})), "issuer_id");
}

/// The fixtures' trust with a root of the sample IACA in `issuer`, for tests only or not.
fn trust_with_root(issuer: &str, test_only: bool) -> TrustSnapshot {
    use idgate_testkit::{keys::Curve, x509::Identity};
    let der = Identity::iaca(Curve::P256, crate::request::fixtures::NOW.0).der;
    let root = crate::trust::TrustAnchor::from_der(&der, crate::trust::RootOrigin::RootFile);
    let root = root.unwrap();
    let mut entries: alloc::vec::Vec<_> = trust().entries().cloned().collect();
    let entry = entries.iter_mut().find(|entry| entry.issuer_id.as_str() == issuer).unwrap();
    entry.roots = alloc::vec![if test_only { root.for_test_only() } else { root }];
    entry.default_claims = alloc::vec!["family_name".into()];
    TrustSnapshot::new(8, entries)
}

#[test]
fn an_mdoc_is_served_by_a_root_of_the_mode() {
    let body = mdoc(json!({"issuer_id": "no-keys"})).to_string();
    let parse = |trust: &TrustSnapshot, live| {
        PresentationRequest::parse(body.as_bytes(), trust, live).map_err(|error| error.code)
    };
    assert!(parse(&trust_with_root("no-keys", false), true).is_ok());
    let for_tests = trust_with_root("no-keys", true);
    assert!(parse(&for_tests, false).is_ok());
    assert_eq!(parse(&for_tests, true).unwrap_err(), ErrorCode::UnknownIssuer);
    let mut elsewhere =
        trust_with_root("no-keys", false).entries().cloned().collect::<alloc::vec::Vec<_>>();
    elsewhere.iter_mut().for_each(|entry| entry.countries = alloc::vec!["DE".into()]);
    let elsewhere = TrustSnapshot::new(9, elsewhere);
    assert_eq!(parse(&elsewhere, true).unwrap_err(), ErrorCode::UnknownIssuer);
}

#[test]
fn the_legacy_format_is_what_the_entry_holds() {
    let format = |issuer: &str| {
        let body = json!({"issuer_id": issuer}).to_string();
        let trust = trust_with_root(issuer, false);
        let request = PresentationRequest::parse(body.as_bytes(), &trust, true).unwrap();
        request.credentials[0].format
    };
    assert_eq!(format("no-keys"), CredentialFormat::Mdoc);
    assert_eq!(format("two"), CredentialFormat::SdJwtVc, "both");
    assert_eq!(format("test-only"), CredentialFormat::Mdoc, "its key is for tests");
}

#[test]
fn long_arrays_names_paths_and_groups_are_bounded() {
    let of = |path: &str| format!("credentials[0].{path}");
    let enumeration = json!({"claim_filters": {"a": {"enum": vec![0; 1001]}}});
    invalid(&sd_jwt(enumeration), &of("claim_filters.a.enum"));
    invalid(&sd_jwt(json!({"claims": ["a".repeat(256)]})), &of("claims[0]"));
    let paths: Vec<_> = (0..11).map(|n| format!("claim_{n}")).collect();
    invalid(&sd_jwt(json!({"subject_claim_paths": paths})), &of("subject_claim_paths"));
    let mut body = sd_jwt(json!({}));
    body["same_subject_groups"] = json!(vec![["x", "y"]; 51]);
    invalid(&body, "same_subject_groups");
}
