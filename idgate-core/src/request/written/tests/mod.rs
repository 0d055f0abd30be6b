//! The builder writes every field, and the parser finds the same errors in it as in a body.

use serde_json::{Value, json};

use super::*;
use crate::crypto::Alg;
use crate::error::ErrorCode;

const PID: &str = "https://issuer.example";

fn pid() -> Credential {
    Credential::sd_jwt_vc("pid", PID).claims(["given_name"])
}

fn written(request: &Request) -> Value {
    serde_json::from_str(&request.to_json()).unwrap_or_default()
}

/// The error of `request`, which is also that of its body.
#[track_caller]
fn fault(request: &Request) -> (ErrorCode, String) {
    let Err(found) = request.check() else { panic!("taken: {request:?}") };
    assert_eq!(Request::from_json(request.to_json().as_bytes()).err(), Some(found.clone()));
    (found.code, found.path)
}

#[test]
fn the_builder_writes_every_field_of_the_interface() {
    let licence = Credential::mdoc("mdl", "https://dmv.example", "org.iso.18013.5.1.mDL")
        .namespace("org.iso.18013.5.1")
        .claims(["family_name"])
        .alg(Alg::Es384)
        .subject_paths(["family_name"]);
    let card = pid()
        .claims(["birthdate"])
        .claim_at("country", ["address", "country"])
        .claim_at("nationality", [Some("nationalities"), None])
        .filter("birthdate", json!({ "format": "date" }))
        .subject_paths(["family_name"]);
    let data = json!({ "type": "payment", "credential_ids": ["pid"], "amount": "1.50" });
    let request = Request::of([card, licence])
        .profiles([Profile::V1_0, Profile::Haip])
        .redirect_uri("https://shop.example/done")
        .ttl(Duration::from_secs(60))
        .same_subject(["pid", "mdl"])
        .one_of([vec!["pid", "mdl"], vec!["pid"]])
        .one_of_or_none([["mdl"]])
        .dc_api(["https://shop.example"])
        .iso_mdoc(false)
        .transaction_data(&data)
        .same_device(true)
        .distinct_credentials()
        .on_unknown_revocation(UnknownRevocation::Refuse);
    let expected = json!({
        "credentials": [
            {
                "id": "pid", "format": "vc+sd-jwt", "issuer_id": PID,
                "claims": ["given_name", "birthdate", "country", "nationality"],
                "claim_paths": {
                    "country": ["address", "country"], "nationality": ["nationalities", null],
                },
                "claim_filters": { "birthdate": { "format": "date" } },
                "subject_claim_paths": ["family_name"],
            },
            {
                "id": "mdl", "format": "mso_mdoc", "issuer_id": "https://dmv.example",
                "doc_type": "org.iso.18013.5.1.mDL", "namespace": "org.iso.18013.5.1",
                "claims": ["family_name"], "alg": "ES384", "subject_claim_paths": ["family_name"],
            },
        ],
        "profiles": ["1.0", "haip"],
        "redirect_uri": "https://shop.example/done",
        "ttl_ms": 60_000,
        "same_subject_groups": [["pid", "mdl"]],
        "credential_sets": [
            { "options": [["pid", "mdl"], ["pid"]] }, { "options": [["mdl"]], "required": false },
        ],
        "dc_api": { "origins": ["https://shop.example"], "iso_mdoc": false },
        "transaction_data": [data],
        "same_device": true,
        "distinct_credentials": true,
        "on_unknown_revocation": "refuse",
    });
    assert_eq!(written(&request), expected);
    assert_eq!(request.check(), Ok(()));
}

#[test]
fn the_callers_text_never_becomes_a_member() {
    let injected = r#"x","issuer_id":"https://other.example","#;
    let asked = Credential::sd_jwt_vc(injected, PID).claims([injected]);
    let body = written(&Request::of([asked]).redirect_uri(injected).same_subject([injected]));
    assert_eq!(body["credentials"][0]["id"], injected);
    assert_eq!(body["credentials"][0]["issuer_id"], PID);
    assert_eq!(body["credentials"][0]["claims"], json!([injected]));
    assert_eq!(body["redirect_uri"], injected);
    assert_eq!(body["same_subject_groups"], json!([[injected]]));
}

#[test]
fn an_error_of_the_builder_is_the_error_of_its_body() {
    use ErrorCode::InvalidRequest;
    let ttl = Duration::from_secs(24 * 60 * 60 + 1);
    let eleven = (0..11).map(|n| Credential::sd_jwt_vc(&format!("c{n}"), PID).claims(["a"]));
    let data = |kind: &str| json!({ "type": kind, "credential_ids": ["pid"] });
    let claims = "credentials[0].claims[1]";
    for (request, path) in [
        (Request::of([]), "credentials"),
        (Request::of(eleven), "credentials"),
        (Request::of([pid(), pid()]), "credentials[1].id"),
        (Request::of([Credential::sd_jwt_vc("pid", PID)]), "credentials[0].claims"),
        (Request::of([pid().claims(["<script>"])]), claims),
        (Request::of([pid().claim_at("<script>", ["a"])]), claims),
        (Request::of([pid().claim_at("a", 1)]), "credentials[0].claim_paths.a"),
        (
            Request::of([pid().filter("given_name", json!({ "minimum": "1" }))]),
            "credentials[0].claim_filters.given_name.minimum",
        ),
        (Request::of([pid()]).ttl(ttl), "ttl_ms"),
        (Request::of([pid()]).ttl(Duration::MAX), "ttl_ms"),
        (Request::of([pid()]).redirect_uri("javascript:alert(1)"), "redirect_uri"),
        (Request::of([pid()]).same_subject(["pid"]), "same_subject_groups[0]"),
        (Request::of([pid()]).profiles([]), "profiles"),
        (Request::of([pid()]).profiles([Profile::Haip]), "redirect_uri"),
        (
            Request::of([pid()]).profiles([Profile::Draft]).distinct_credentials(),
            "distinct_credentials",
        ),
        (Request::of([pid()]).one_of([["mdl"]]), "credential_sets[0].options[0][0]"),
        (Request::of([pid()]).dc_api(["https://shop.example/"]), "dc_api.origins[0]"),
        (Request::of([pid()]).iso_mdoc(true), "dc_api.origins"),
        (Request::of([pid()]).same_device(true), "same_device"),
        (Request::of([pid()]).transaction_data(data("")), "transaction_data[0].type"),
        (
            Request::of([pid()]).transaction_data(data("a")).transaction_data(data("a")),
            "transaction_data[1]",
        ),
    ] {
        assert_eq!(fault(&request), (InvalidRequest, path.into()));
    }
}

#[test]
fn two_mdocs_of_one_type_are_refused_with_draft() {
    let licence = |id| Credential::mdoc(id, "https://dmv.example", "org.example").claims(["a"]);
    let both = Request::of([licence("a"), licence("b")]);
    assert_eq!(both.check(), Ok(()));
    let path = String::from("credentials[1].doc_type");
    assert_eq!(fault(&both.profiles([Profile::Draft])), (ErrorCode::InvalidRequest, path));
}

#[test]
fn a_body_over_64_kib_is_refused_built_or_read() {
    let long = "a".repeat(65_536);
    let (code, path) = fault(&Request::of([pid()]).redirect_uri(&long));
    assert_eq!((code, &*path), (ErrorCode::InvalidRequest, ""));
}

#[test]
fn a_body_that_was_read_is_kept_and_can_be_extended() {
    let body = br#" { "issuer_id" : "https://issuer.example", "ttl\u005fms": 60000 } "#;
    let read = Request::from_json(body);
    let Ok(read) = read else { panic!("{read:?}") };
    assert_eq!(read.to_json(), r#"{"issuer_id":"https://issuer.example","ttl_ms":60000}"#);
    let longer = read.ttl(Duration::from_secs(61));
    assert_eq!(longer.to_json(), r#"{"issuer_id":"https://issuer.example","ttl_ms":61000}"#);
    assert_eq!(longer.check(), Ok(()));
    assert_eq!(fault(&longer.ttl(Duration::ZERO)).1, "ttl_ms");
}
