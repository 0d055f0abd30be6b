//! `GET /v1/audit-log`

use serde_json::json;

use super::*;
use crate::tenant::members;

#[test]
fn every_change_is_an_audit_entry_without_claims_or_secrets() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let [verified, refused, deleted] = three_sessions(&mut tenant);
    let page = tenant.audit("");
    assert_eq!(members(&page), ["entries", "has_more", "next_cursor"]);
    assert_eq!((&page["has_more"], &page["next_cursor"]), (&json!(false), &Value::Null));
    let entries = page["entries"].as_array().unwrap();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let told: Vec<_> =
        entries.iter().map(|entry| (text(entry, "status"), text(entry, "session_id"))).collect();
    let want = [
        ("DELETED", &deleted),
        ("CREATED", &deleted),
        ("FAILED", &refused),
        ("CREATED", &refused),
        ("VERIFIED", &verified),
        ("CREATED", &verified),
        ("API_KEY_CREATED", &String::new()),
    ];
    assert_eq!(told, want.map(|(status, id)| (status.to_owned(), id.clone())));
    let hashes = ["chain_intact", "entry_hash"];
    let of_session =
        ["actor", "credential_types", "issuer_ids", "occurred_at", "prev_hash", "session_id"];
    let names = |more: &[&str]| {
        let mut names: Vec<String> = more.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let created = names(&[&hashes[..], &of_session, &["status"]].concat());
    assert_eq!(members(&entries[1]), created);
    let failed =
        names(&[&hashes[..], &of_session, &["status", "error_code", "latency_ms"]].concat());
    assert_eq!(members(&entries[2]), failed);
    assert_eq!(entries[2]["error_code"], "kb_jwt_stale");
    let plain = ["actor", "key_id", "occurred_at", "prev_hash", "status"];
    assert_eq!(members(&entries[6]), names(&[&hashes[..], &plain].concat()));
    let own = entries[6]["key_id"].as_str().unwrap();
    let actors: Vec<&str> = entries.iter().map(|e| e["actor"].as_str().unwrap()).collect();
    assert_eq!(actors, [own, own, "wallet", own, "wallet", own, "operator"]);
    for (newer, older) in entries.iter().zip(&entries[1..]) {
        assert_eq!(newer["prev_hash"], older["entry_hash"]);
        assert_eq!(newer["chain_intact"], true);
    }
    for entry in entries.iter().filter(|entry| entry["credential_types"].is_array()) {
        assert_eq!(entry["credential_types"], json!(["vc+sd-jwt"]));
        assert_eq!(entry["issuer_ids"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn audit_pages_stay_consistent_while_entries_are_added() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    three_sessions(&mut tenant);
    let all = tenant.audit("?limit=100")["entries"].clone();
    let mut found = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = tenant.audit(&query);
        found.extend(page["entries"].as_array().unwrap().clone());
        assert_eq!(page["has_more"], page["next_cursor"].is_string());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?cursor={cursor}&limit=2&other=ignored");
        tenant.create(&request_for(&["given_name"]));
    }
    assert_eq!(Value::Array(found), all);
}

#[test]
fn a_bad_limit_or_cursor_is_400() {
    let gateway = Gateway::start();
    let other = gateway.installation.create_client("other", true);
    let mut tenant = gateway.tenant();
    three_sessions(&mut tenant);
    let cursor = tenant.audit("?limit=1")["next_cursor"].as_str().unwrap().to_owned();
    let get = |tenant: &mut Tenant, query: &str| {
        tenant.http.send(&Request::get(format!("/v1/audit-log{query}")).bearer(&tenant.api_key))
    };
    for limit in ["0", "101", "-1", "", "ten", "1.0"] {
        get(&mut tenant, &format!("?limit={limit}")).expect_error(400, "invalid_limit");
    }
    for bad in ["", "x", "%00", &cursor[1..], &format!("{cursor}A"), &cursor.to_lowercase()] {
        get(&mut tenant, &format!("?cursor={bad}")).expect_error(400, "invalid_cursor");
    }
    get(&mut tenant, "?limit=1&limit=1").expect_error(400, "invalid_request");
    get(&mut tenant, "?cursor=a&cursor=a").expect_error(400, "invalid_request");
    let mut other = gateway.tenant_of(&other);
    get(&mut other, &format!("?cursor={cursor}")).expect_error(400, "invalid_cursor");
}

#[test]
fn path_method_key_and_scope_are_checked_before_the_query() {
    let gateway = Gateway::start();
    let narrow = gateway.installation.run_json(&[
        "client",
        "create",
        "narrow",
        "--json",
        "--scopes",
        "session:read,session:create",
    ]);
    let narrow = narrow["api_key"].as_str().unwrap().to_owned();
    let mut http = gateway.http();
    let target = "/v1/audit-log?limit=0";
    http.send(&Request::get("/v1/audit-log/")).expect_error(404, "not_found");
    let refused = http.send(&Request::post(target));
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    refused.expect_error(405, "method_not_allowed");
    http.send(&Request::get(target)).expect_error(401, "invalid_api_key");
    http.send(&Request::get(target).bearer(&narrow)).expect_error(403, "insufficient_scope");
}

#[test]
fn a_client_reads_only_its_own_chain_and_mode() {
    let installation = Installation::new();
    let live = installation.create_client("live", false);
    let gateway = Gateway::start_on(installation);
    let mut test = gateway.tenant();
    three_sessions(&mut test);
    let of_live = gateway.tenant_of(&live).audit("");
    let statuses: Vec<&Value> =
        of_live["entries"].as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
    assert_eq!(statuses, ["API_KEY_CREATED"]);
}

/// A key that may read the history must not be able to open sessions with it.
#[test]
fn an_entry_of_an_open_session_does_not_tell_its_id() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let id = json!(created.id);
    let page = tenant.audit("");
    assert!(!page.to_string().contains(&created.id), "{page}");
    let entry = &page["entries"][0];
    assert_eq!((&entry["status"], &entry["chain_intact"]), (&json!("CREATED"), &json!(true)));
    assert_eq!(entry.get("session_id"), None);
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    let page = tenant.audit("");
    let told = [&page["entries"][0]["session_id"], &page["entries"][1]["session_id"]];
    assert_eq!(told, [&id, &id]);
    assert_eq!(page["entries"][1]["entry_hash"], entry["entry_hash"]);
    let deleted = tenant.create(&request_for(&["given_name"]));
    tenant.delete(&deleted.id).expect_status(204);
    assert_eq!(tenant.audit("?limit=2")["entries"][1]["session_id"], json!(deleted.id));
}

#[test]
fn an_entry_about_a_key_has_key_id_actor_and_scopes() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let own = tenant.audit("")["entries"][0]["key_id"].clone();
    let body = json!({ "scopes": ["session:read", "audit:read"] });
    let make = Request::post("/v1/api-keys").bearer(&tenant.api_key).json(&body);
    let made = tenant.http.send(&make).expect_status(201).json();
    let id = made["id"].as_str().unwrap();
    let rotate = Request::post(format!("/v1/api-keys/{id}/rotate")).bearer(&tenant.api_key);
    tenant.http.send(&rotate).expect_status(200);
    let revoke = ["client", "key", "revoke", id];
    assert_eq!(gateway.installation.run(&revoke).code, 0);
    let page = tenant.audit("?limit=3");
    let told = |n: usize| {
        let entry = &page["entries"][n];
        [&entry["status"], &entry["key_id"], &entry["actor"], &entry["scopes"]].map(Value::clone)
    };
    let null = Value::Null;
    assert_eq!(told(0), [json!("API_KEY_REVOKED"), json!(id), json!("operator"), null.clone()]);
    assert_eq!(told(1), [json!("API_KEY_ROTATED"), json!(id), own.clone(), null]);
    assert_eq!(told(2), [json!("API_KEY_CREATED"), json!(id), own, body["scopes"].clone()]);
}
