//! Reports on rejected answers, over HTTP and with the operator's command (decisions 26).

use serde_json::{Value, json};

use crate::http::{Request, Response};
use crate::tenant::{
    Created, Gateway, Tenant, form, members, now_ms, request_for, sample_wallet, timestamp,
    wallet_with,
};

fn report(tenant: &mut Tenant, id: &str) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::get(format!("/v1/sessions/{id}/report")).bearer(&key))
}

/// A session whose answer is an hour too old.
fn refused(tenant: &mut Tenant) -> Created {
    let wallet = wallet_with(&[("given_name", "Sentinel-report-K9")]);
    let created = tenant.create(&request_for(&["given_name"]));
    let stale = wallet.answer_uri(&created.uri, now_ms() - 3_600_000).unwrap();
    tenant.post_answer(&created.id, &stale.form_body()).expect_status(400);
    created
}

#[test]
fn a_report_has_rules_and_clauses_but_no_values() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = refused(&mut tenant);
    let answer = report(&mut tenant, &created.id).expect_status(200);
    let told = answer.json();
    let names = ["answer", "credential", "credentials", "reason", "refused_at", "session_id"];
    assert_eq!(members(&told), names);
    assert_eq!(told["session_id"], created.id.as_str());
    assert_eq!(told["reason"], tenant.read(&created.id)["reason"]);
    assert_eq!(told["credential"], "pid");
    assert!(timestamp(&told["refused_at"]) > 0);
    assert_eq!(told["answer"], json!([]));
    let credential = &told["credentials"][0];
    assert_eq!((&credential["id"], &credential["passed"]), (&json!("pid"), &json!(false)));
    let checks = credential["checks"].as_array().unwrap();
    let failed: Vec<&Value> = checks.iter().filter(|check| check["passed"] == false).collect();
    assert_eq!(failed.len(), 1, "{checks:?}");
    assert_eq!(members(failed[0]), ["clause", "detail", "group", "passed", "rule"]);
    assert_eq!(failed[0]["clause"], "RFC 9901 7.3 step 5e");
    assert!(checks.len() > 10, "{checks:?}");
    for check in checks.iter().filter(|check| check["passed"] == true) {
        assert_eq!(members(check), ["clause", "group", "passed", "rule"]);
    }
    let text = String::from_utf8(answer.body).unwrap();
    assert!(!text.contains("Sentinel-report-K9") && !text.contains("given_name"), "{text}");
    // The operator reads the same report, as a tree or as JSON.
    let explain = ["session", "explain", &created.id];
    let tree = gateway.installation.run(&explain);
    assert_eq!(tree.code, 0);
    assert!(tree.stdout.contains("FAILED"), "{}", tree.stdout);
    assert!(tree.stdout.contains("RFC 9901 7.3 step 5e"), "{}", tree.stdout);
    let json = gateway.installation.run_json(&["session", "explain", &created.id, "--json"]);
    assert_eq!(json, told);
}

#[test]
fn a_report_names_the_failed_credential_and_clears_the_other() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    // An answer that does not map onto the request names no credential.
    let body = Request::post(format!("/v1/oid4vp/response/{}", created.id)).json(&json!({
        "vp_token": "x", "state": state_of(&created),
        "presentation_submission": { "id": "s", "definition_id": "another", "descriptor_map": [] }
    }));
    tenant.http.send(&body).expect_error(400, "invalid_presentation");
    let told = report(&mut tenant, &created.id).expect_status(200).json();
    assert_eq!((&told["credential"], &told["credentials"]), (&Value::Null, &json!([])));
    assert_eq!(told["reason"], "submission_mismatch");
    assert_eq!(told["answer"][0]["passed"], false);
    assert_eq!(told["answer"][0]["group"], "answer");
}

fn state_of(created: &Created) -> String {
    idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap().state
}

#[test]
fn no_report_without_a_rejection_or_after_deletion() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let verified = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
    let open = tenant.create(&request_for(&["given_name"])).id;
    let declined = tenant.create(&request_for(&["given_name"]));
    let decline = json!({ "error": "access_denied", "state": state_of(&declined) });
    let answer = Request::post(format!("/v1/oid4vp/response/{}", declined.id)).json(&decline);
    tenant.http.send(&answer).expect_status(200);
    for id in [&verified, &open, &declined.id, &"ses_0000000000000000000000".to_owned()] {
        report(&mut tenant, id).expect_error(404, "not_found");
        assert_eq!(gateway.installation.run(&["session", "explain", id]).code, 4);
    }
    let refused = refused(&mut tenant).id;
    let other = gateway.installation.create_client("other", true);
    report(&mut gateway.tenant_of(&other), &refused).expect_error(404, "not_found");
    report(&mut tenant, &refused).expect_status(200);
    tenant.delete(&refused).expect_status(204);
    report(&mut tenant, &refused).expect_error(404, "not_found");
    assert_eq!(gateway.installation.run(&["session", "explain", &refused]).code, 4);
}

#[test]
fn a_report_survives_a_restart_and_is_sealed_on_disk() {
    let gateway = Gateway::start();
    let id = refused(&mut gateway.tenant()).id;
    let told = report(&mut gateway.tenant(), &id).expect_status(200).json();
    let needles = [b"key binding JWT is strict".to_vec(), b"RFC 9901 7.3".to_vec()];
    let found = crate::disk::files_with(&gateway.installation.data_dir(), &needles);
    assert!(found.is_empty(), "{found:?}");
    let Gateway { server, client, installation } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let server = installation.serve();
    let gateway = Gateway { server, client, installation };
    assert_eq!(report(&mut gateway.tenant(), &id).expect_status(200).json(), told);
    // A verified answer leaves no report.
    let verified = gateway.tenant().create(&request_for(&["given_name"]));
    let body = form(&sample_wallet(), &verified);
    gateway.tenant().post_answer(&verified.id, &body).expect_status(200);
    report(&mut gateway.tenant(), &verified.id).expect_error(404, "not_found");
}
