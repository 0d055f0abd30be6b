//! DCQL queries beyond claim names: paths, credential sets, and transaction data (OpenID4VP 6, 7,
//! 8.4).

mod harness;
mod transactions;

use idgate_testkit::openid4vp::{Forgery, Format};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use self::harness::{Gateway, identity_card, licence, wallet};

fn pid(claims: Value, more: Value) -> Value {
    let base = json!({"id": "pid", "format": "vc+sd-jwt", "issuer_id": identity_card().issuer_id,
        "claims": claims});
    merged(base, more)
}

fn mdl(claims: Value, more: Value) -> Value {
    let base = json!({"id": "mdl", "format": "mso_mdoc", "issuer_id": licence().issuer_id,
        "claims": claims});
    merged(base, more)
}

fn merged(mut base: Value, more: Value) -> Value {
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

/// A query that either credential satisfies.
fn either(more: Value) -> Value {
    let sets = json!([{"options": [["pid"], ["mdl"]]}]);
    let names = json!({"subject_claim_paths": ["family_name"]});
    let credentials =
        [pid(json!(["given_name"]), names.clone()), mdl(json!(["family_name"]), names)];
    merged(json!({"credentials": credentials, "credential_sets": sets}), more)
}

fn only_pid() -> Wallet {
    Wallet::new(identity_card().sample.holder_key).with(identity_card().sample.credential)
}

#[test]
fn a_claim_is_read_from_its_path_and_returned_under_the_tenants_name() {
    let paths = json!({"claim_paths": {
        "city": ["address", "locality"], "countries": ["nationalities", null]}});
    let asked = pid(json!(["city", "countries", "given_name"]), paths);
    let mut gateway = Gateway::new();
    let (mut session, request) = gateway.open(&json!({"credentials": [asked]}), &[Format::SdJwtVc]);
    let answer = gateway.answer(&wallet(), &request);
    let (claims, _) = gateway.verified(&mut session, &answer);
    let expected = json!({"city": "Köln", "countries": ["DE", "FR"], "given_name": "Erika"});
    assert_eq!(claims["pid"], expected);
}

#[test]
fn a_claim_filter_applies_to_the_selected_path() {
    for (filter, good) in [
        (json!({"city": {"const": "Köln"}}), true),
        (json!({"city": {"pattern": "^Ber"}}), false),
        (json!({"countries": {"const": ["DE", "FR"]}}), true),
        (json!({"countries": {"type": "string"}}), false),
    ] {
        let more = json!({"claim_filters": filter, "claim_paths": {
            "city": ["address", "locality"], "countries": ["nationalities", null]}});
        let asked = json!({"credentials": [pid(json!(["city", "countries"]), more)]});
        let mut gateway = Gateway::new();
        let (mut session, request) = gateway.open(&asked, &[Format::SdJwtVc]);
        let answer = gateway.answer(&wallet(), &request);
        if good {
            gateway.verified(&mut session, &answer);
        } else {
            assert_eq!(gateway.refused(&mut session, &answer), "claim_filter_mismatch", "{filter}");
        }
    }
}

#[test]
fn an_omitted_credential_is_in_neither_claims_nor_details() {
    let mut gateway = Gateway::new();
    let (mut session, request) = gateway.open(&either(json!({})), &[Format::SdJwtVc, Format::Mdoc]);
    let answer = gateway.answer(&only_pid(), &request);
    let (claims, details) = gateway.verified(&mut session, &answer);
    assert_eq!(claims, json!({"pid": {"given_name": "Erika"}}));
    let ids: Vec<&Value> =
        details["credentials"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["pid"]);
}

#[test]
fn a_group_compares_the_presented_credentials() {
    let set = |options: Value| json!({"credential_sets": [{"options": options}]});
    let grouped = merged(either(json!({})), json!({"same_subject_groups": [["pid", "mdl"]]}));
    let formats = [Format::SdJwtVc, Format::Mdoc];
    for (options, holder, same) in [
        (json!([["pid"], ["mdl"]]), only_pid(), json!([])),
        (json!([["pid", "mdl"]]), wallet(), json!([{"ids": ["pid", "mdl"], "matched": true}])),
    ] {
        let mut gateway = Gateway::new();
        let asked = merged(grouped.clone(), set(options));
        let (mut session, request) = gateway.open(&asked, &formats);
        let answer = gateway.answer(&holder, &request);
        let (_, details) = gateway.verified(&mut session, &answer);
        assert_eq!(details["same_subject"], same);
    }
}

#[test]
fn an_answer_that_does_not_fit_the_query_is_refused() {
    for (forgery, reason) in [
        (Forgery::UnknownQueryId, "submission_mismatch"),
        (Forgery::MissingQueryId, "submission_mismatch"),
        (Forgery::NoQueryId, "submission_mismatch"),
        (Forgery::SeveralPresentations, "submission_mismatch"),
        (Forgery::NoPresentations, "submission_mismatch"),
        (Forgery::ObjectElement, "malformed_presentation"),
        (Forgery::NumberElement, "malformed_presentation"),
    ] {
        let mut gateway = Gateway::new();
        let asked = json!({"credentials": [pid(json!(["given_name"]), json!({}))]});
        let (mut session, request) = gateway.open(&asked, &[Format::SdJwtVc]);
        let answer = gateway.forged(&wallet(), &request, forgery);
        assert_eq!(gateway.refused(&mut session, &answer), reason, "{forgery:?}");
    }
}

#[test]
fn a_draft_vp_token_leaves_the_session_unchanged() {
    for forgery in [Forgery::DraftString, Forgery::DraftArray] {
        let mut gateway = Gateway::new();
        let asked = json!({"credentials": [pid(json!(["given_name"]), json!({}))]});
        let (mut session, request) = gateway.open(&asked, &[Format::SdJwtVc]);
        let answer = gateway.forged(&wallet(), &request, forgery);
        assert!(gateway.post(&mut session, &answer).is_err(), "{forgery:?}");
        let good = gateway.forged(&wallet(), &request, Forgery::BareString);
        gateway.verified(&mut session, &good);
    }
}
