//! The fields of the newer profiles over HTTP: why each is rejected, and its effect.

use idgate_testkit::openid4vp::{Expected, Format, Keys, Prefix, Request as Asked};
use serde_json::{Value, json};

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Gateway, credential, form, now_ms, request_for, sample_trust, sample_wallet};

fn gateway(profiles: &str) -> Gateway {
    let installation = Installation::new().with("IDGATE_PROFILES", profiles);
    Gateway::trusting(installation, &sample_trust())
}

/// A request for one claim of `pid` with these further members, at top level and in the credential.
fn asking(top: Value, inside: Value) -> Value {
    let mut pid = credential("pid", &["given_name"]);
    pid.as_object_mut().unwrap().extend(inside.as_object().unwrap().clone());
    let mut request = json!({"credentials": [pid]});
    request.as_object_mut().unwrap().extend(top.as_object().unwrap().clone());
    request
}

#[test]
fn invalid_newer_fields_are_rejected_by_name() {
    let gateway = gateway("1.0,draft");
    let mut tenant = gateway.tenant();
    let none = || json!({});
    let data = |more: Value| {
        let mut data = json!({"type": "payment", "credential_ids": ["pid"]});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"transaction_data": [data]})
    };
    let sets = |options: Value| json!({"credential_sets": [{"options": options}]});
    let draft = |mut top: Value| {
        top["profile"] = json!("draft");
        top
    };
    for (request, code, names) in [
        (asking(json!({"profile": "haip"}), none()), "unsupported_profile", "profile"),
        (asking(json!({"profile": 1}), none()), "invalid_request", "profile"),
        (asking(json!({"profiles": []}), none()), "invalid_request", "profiles"),
        (asking(json!({"profiles": ["1.0", "1.0"]}), none()), "invalid_request", "profiles[1]"),
        (asking(json!({"same_device": true}), none()), "invalid_request", "same_device"),
        (asking(sets(json!([["x"]])), none()), "invalid_request", "credential_sets[0].options"),
        (asking(json!({"credential_sets": []}), none()), "invalid_request", "credential_sets"),
        (asking(draft(sets(json!([["pid"]]))), none()), "invalid_request", "draft"),
        (asking(draft(data(none())), none()), "invalid_request", "draft"),
        (asking(data(json!({"type": ""})), none()), "invalid_request", "transaction_data[0].type"),
        (
            asking(data(json!({"credential_ids": ["x"]})), none()),
            "invalid_request",
            "transaction_data[0].credential_ids[0]",
        ),
        (
            asking(none(), json!({"claim_paths": {"given_name": ["a", 0]}})),
            "invalid_request",
            "credentials[0].claim_paths.given_name",
        ),
        (
            asking(none(), json!({"claim_paths": {"other": ["a"]}})),
            "invalid_request",
            "credentials[0].claim_paths.other",
        ),
    ] {
        let refused = tenant.post_session(&request);
        assert_eq!(refused.error(), code, "{request}");
        let message = refused.message();
        assert!(message.contains(names), "{request}: {message}");
        refused.expect_error(400, code);
    }
}

#[test]
fn a_tenants_path_and_transaction_reach_the_wallet() {
    let gateway = gateway("1.0,draft");
    let mut tenant = gateway.tenant();
    let data = json!({"transaction_data": [{"type": "payment", "credential_ids": ["pid"]}]});
    let mut request = asking(data, json!({"claim_paths": {"city": ["address", "locality"]}}));
    request["credentials"][0]["claims"] = json!(["city"]);
    let created = tenant.create(&request);
    let expected = Expected {
        prefix: Prefix::RedirectUri,
        encrypted: false,
        formats: vec![Format::SdJwtVc],
        haip: false,
        transaction_data: true,
        anchor: None,
        did_document: None,
        now_ms: now_ms(),
    };
    let (asked, _) = Asked::read(&created.uri, None, &expected, &mut Keys::default());
    let claims = &asked.parameters["dcql_query"]["credentials"][0]["claims"];
    assert_eq!(*claims, json!([{"path": ["address", "locality"]}]));
    assert_eq!(asked.parameters["transaction_data"].as_array().unwrap().len(), 1);
    // The wallet does not support transaction data.
    let answer = sample_wallet().answer_1_0(&asked, now_ms()).unwrap();
    tenant.post_answer(&created.id, &answer.body()).expect_error(400, "invalid_presentation");
    assert_eq!(tenant.read(&created.id)["reason"], "transaction_data_mismatch");
}

/// The query languages differ, and so do their clauses.
#[test]
fn the_clause_of_claim_filters_is_that_of_the_profile() {
    let gateway = gateway("1.0,draft");
    let mut tenant = gateway.tenant();
    let filter = || json!({"claim_filters": {"given_name": {"type": "string", "minLength": 40}}});
    for (profile, clause) in
        [("1.0", "OpenID4VP 1.0 6.4.1"), ("draft", "Presentation Exchange 2 5.2.2")]
    {
        let created = tenant.create(&asking(json!({"profile": profile}), filter()));
        let answer = match profile {
            "draft" => form(&sample_wallet(), &created),
            _ => {
                let expected = Expected {
                    prefix: Prefix::RedirectUri,
                    encrypted: false,
                    formats: vec![Format::SdJwtVc],
                    haip: false,
                    transaction_data: false,
                    anchor: None,
                    did_document: None,
                    now_ms: now_ms(),
                };
                let (asked, _) = Asked::read(&created.uri, None, &expected, &mut Keys::default());
                sample_wallet().answer_1_0(&asked, now_ms()).unwrap().body()
            }
        };
        tenant.post_answer(&created.id, &answer).expect_error(400, "invalid_presentation");
        assert_eq!(tenant.read(&created.id)["reason"], "claim_filter_mismatch", "{profile}");
        let key = tenant.api_key.clone();
        let report = Request::get(format!("/v1/sessions/{}/report", created.id)).bearer(&key);
        let told = tenant.http.send(&report).expect_status(200).json();
        let checks = told["credentials"][0]["checks"].as_array().unwrap();
        let failed: Vec<&Value> = checks.iter().filter(|it| it["passed"] == false).collect();
        assert_eq!((failed.len(), &failed[0]["clause"]), (1, &json!(clause)), "{profile}");
    }
}

#[test]
fn a_claim_is_returned_from_its_path() {
    let gateway = gateway("1.0");
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["city"]);
    request["credentials"][0]["claim_paths"] = json!({"city": ["address", "locality"]});
    let created = tenant.create(&request);
    let expected = Expected {
        prefix: Prefix::RedirectUri,
        encrypted: false,
        formats: vec![Format::SdJwtVc],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: None,
        now_ms: now_ms(),
    };
    let (asked, _) = Asked::read(&created.uri, None, &expected, &mut Keys::default());
    let answer = sample_wallet().answer_1_0(&asked, now_ms()).unwrap();
    tenant.post_answer(&created.id, &answer.body()).expect_status(200);
    let session = tenant.read(&created.id);
    let claims: Vec<&Value> = session["claims"].as_object().unwrap().values().collect();
    assert_eq!(claims, [&json!({"city": "Köln"})]);
}
