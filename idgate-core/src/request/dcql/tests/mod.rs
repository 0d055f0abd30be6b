//! From the tenant's request to the query, by the rules of OpenID4VP 6.

use serde_json::{Value, json};

use super::*;
use crate::request::fixtures;

fn query_in(request: &PresentationRequest, profile: Profile) -> Value {
    serde_json::to_value(DcqlQuery::new(request, profile)).unwrap()
}

fn query(request: &PresentationRequest) -> Value {
    query_in(request, Profile::V1_0)
}

fn one_with(change: impl FnOnce(&mut CredentialRequest)) -> PresentationRequest {
    let mut request = fixtures::one_credential();
    change(&mut request.credentials[0]);
    request
}

fn path(text: &str) -> ClaimPath {
    ClaimPath::from_json(text).unwrap()
}

fn claims(request: &PresentationRequest) -> Value {
    query(request)["credentials"][0]["claims"].clone()
}

#[test]
fn a_plain_request_has_no_member_that_wallets_refuse() {
    let expected = json!({"credentials": [{
        "id": "credential_1", "format": "dc+sd-jwt", "meta": {"vct_values": ["urn:one"]},
        "claims": [{"path": ["given_name"]}],
    }]});
    for profile in [Profile::V1_0, Profile::Haip] {
        assert_eq!(query_in(&fixtures::one_credential(), profile), expected);
    }
}

#[test]
fn every_accepted_type_is_named() {
    let request = one_with(|asked| asked.vct = ["urn:a", "urn:b"].map(String::from).into());
    let meta = &query(&request)["credentials"][0]["meta"];
    assert_eq!(*meta, json!({"vct_values": ["urn:a", "urn:b"]}));
}

#[test]
fn an_mdoc_is_requested_by_document_type_without_retention() {
    let request = one_with(|asked| {
        asked.format = CredentialFormat::Mdoc;
        asked.doc_type = Some(DocType::new("org.iso.18013.5.1.mDL"));
        asked.namespace = Some(NameSpace::new("org.iso.18013.5.1"));
        asked.claims = ["given_name", "age_over_18"].map(String::from).into();
        asked.subject_claim_paths =
            ["given_name", "birth_date"].map(|name| SubjectPath::parse(name).unwrap()).into();
    });
    let claim = |name| json!({"path": ["org.iso.18013.5.1", name], "intent_to_retain": false});
    let expected = json!({"credentials": [{
        "id": "credential_1", "format": "mso_mdoc",
        "meta": {"doctype_value": "org.iso.18013.5.1.mDL"},
        "claims": [claim("given_name"), claim("age_over_18"), claim("birth_date")],
    }]});
    assert_eq!(query(&request), expected);
}

#[test]
fn claims_that_cannot_be_hidden_are_left_out_of_the_query() {
    let plain = ["iss", "nbf", "exp", "cnf", "vct", "aka_vcts", "status"];
    let request = one_with(|asked| {
        asked.claims = plain.map(String::from).into();
        asked.claims.extend(["integrity".into(), "key".into(), "iat".into(), "sub".into()]);
        asked.claim_paths = vec![
            ("integrity".into(), path(r#"["vct#integrity"]"#)),
            ("key".into(), path(r#"["cnf","jwk"]"#)),
        ];
    });
    assert_eq!(claims(&request), json!([{"path": ["iat"]}, {"path": ["sub"]}]));
}

#[test]
fn a_query_for_only_visible_claims_has_no_claims() {
    let request = one_with(|asked| asked.claims = ["iss", "vct"].map(String::from).into());
    let asked = &query(&request)["credentials"][0];
    assert!(asked.get("claims").is_none(), "{asked}");
}

#[test]
fn a_claim_is_requested_at_its_path() {
    let request = one_with(|asked| {
        asked.claims = ["city", "given_name", "countries"].map(String::from).into();
        asked.claim_paths = vec![
            ("city".into(), path(r#"["address","locality"]"#)),
            ("countries".into(), path(r#"["nationalities",null]"#)),
        ];
    });
    let expected = json!([
        {"path": ["address", "locality"]}, {"path": ["given_name"]},
        {"path": ["nationalities", null]},
    ]);
    assert_eq!(claims(&request), expected);
}

#[test]
fn no_path_is_requested_twice() {
    let request = one_with(|asked| {
        asked.claims = ["given_name", "first_name", "city"].map(String::from).into();
        asked.claim_paths = vec![
            ("first_name".into(), path(r#"["given_name"]"#)),
            ("city".into(), path(r#"["address","locality"]"#)),
        ];
        asked.subject_claim_paths = ["first_name", "address.locality", "city", "address.country"]
            .map(|name| SubjectPath::parse(name).unwrap())
            .into();
    });
    let expected = json!([
        {"path": ["given_name"]}, {"path": ["address", "locality"]},
        {"path": ["address", "country"]},
    ]);
    assert_eq!(claims(&request), expected);
}

/// `values` of a claim `a` with this filter, in this profile.
fn values_of(filter: &str, path: Option<ClaimPath>, profile: Profile) -> Value {
    let body = format!(
        r#"{{"credentials": [{{"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"],
            "claim_filters": {{"a": {filter}}}}}]}}"#
    );
    let mut request =
        PresentationRequest::parse(body.as_bytes(), &fixtures::trust(), true).unwrap();
    request.credentials[0].claim_paths = path.map(|path| ("a".into(), path)).into_iter().collect();
    query_in(&request, profile)["credentials"][0]["claims"][0]["values"].take()
}

#[test]
fn listed_values_are_sent_in_1_0_only() {
    for (filter, values) in [
        (r#"{"const": "DE"}"#, json!(["DE"])),
        (r#"{"enum": ["DE", 7, -1, true]}"#, json!(["DE", 7, -1, true])),
        (r#"{"type": "string", "const": "DE", "minLength": 1}"#, json!(["DE"])),
        (r#"{"const": 1.0}"#, json!(null)),
        (r#"{"const": 1e2}"#, json!(null)),
        (r#"{"const": null}"#, json!(null)),
        (r#"{"enum": ["DE", null]}"#, json!(null)),
        (r#"{"enum": [["DE"]]}"#, json!(null)),
        (r#"{"minimum": 18}"#, json!(null)),
        (r#"{"pattern": "^D"}"#, json!(null)),
        ("{}", json!(null)),
    ] {
        assert_eq!(values_of(filter, None, Profile::V1_0), values, "{filter}");
        assert_eq!(values_of(filter, None, Profile::Haip), json!(null), "{filter}");
    }
}

#[test]
fn a_query_without_values_is_otherwise_the_same() {
    let request = fixtures::request(json!({"credentials": [
        {"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a", "b"],
         "claim_filters": {"a": {"const": "DE"}}},
    ]}));
    let mut with = query(&request);
    let filtered = with["credentials"][0]["claims"][0].as_object_mut().unwrap();
    assert_eq!(filtered.remove("values"), Some(json!(["DE"])));
    assert_eq!(serde_json::to_value(DcqlQuery::without_values(&request)).unwrap(), with);
}

#[test]
fn a_filter_on_a_list_does_not_apply_to_its_elements() {
    let (filter, element) = (r#"{"const": "DE"}"#, path(r#"["a",null]"#));
    assert_eq!(values_of(filter, Some(element), Profile::V1_0), json!(null));
    let member = path(r#"["a","b"]"#);
    assert_eq!(values_of(filter, Some(member), Profile::V1_0), json!(["DE"]));
}

#[test]
fn authorities_are_named_when_the_trust_entry_says_so() {
    let request = one_with(|asked| asked.aki = vec!["VPojg6BMKODZMHkiYcgMSIHSwAs".into()]);
    let expected = json!([{"type": "aki", "values": ["VPojg6BMKODZMHkiYcgMSIHSwAs"]}]);
    assert_eq!(query(&request)["credentials"][0]["trusted_authorities"], expected);
    let url = "https://lists.example/pid.json";
    let request = one_with(|asked| {
        asked.aki = vec!["VPojg6BMKODZMHkiYcgMSIHSwAs".into()];
        asked.etsi_tl = vec![url.into()];
    });
    let both = json!([
        {"type": "aki", "values": ["VPojg6BMKODZMHkiYcgMSIHSwAs"]},
        {"type": "etsi_tl", "values": [url]},
    ]);
    assert_eq!(query(&request)["credentials"][0]["trusted_authorities"], both);
}

#[test]
fn invalid_query_ids_are_replaced_in_sets_too() {
    let mut request = fixtures::two_credentials();
    request.credentials[0].id = "p d".into();
    let set = |options: &[&[&str]], required| CredentialSet {
        options: options.iter().map(|ids| ids.iter().map(|id| (*id).into()).collect()).collect(),
        required,
    };
    request.credential_sets =
        vec![set(&[&["p d"], &["credential_2", "p d"]], true), set(&[&["credential_2"]], false)];
    let query = query(&request);
    assert_eq!(query["credentials"][0]["id"], "credential_1");
    let expected = json!([
        {"options": [["credential_1"], ["credential_2", "credential_1"]]},
        {"options": [["credential_2"]], "required": false},
    ]);
    assert_eq!(query["credential_sets"], expected);
}
