//! Creation requests that break a rule get 400 with the exact code and a message that names the
//! field. Nothing is stored (specification 2, 8; decisions 4, 17).

mod builder;
mod table;

use serde_json::{Value, json};

use self::table::{table, with};
use crate::disk;
use crate::http::Request;
use crate::tenant::{Gateway, credential, request_for};

#[test]
fn bad_creation_requests_are_rejected_by_field_and_store_nothing() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let directory = gateway.installation.data_dir();
    let before = disk::row_counts(&directory);
    let mut wrong = Vec::new();
    let table = table();
    assert!(table.len() >= 100, "{} rows", table.len());
    for bad in table {
        let request = Request::post("/v1/sessions")
            .bearer(&tenant.api_key)
            .header("Content-Type", "application/json")
            .bytes(bad.body);
        let response = tenant.http.send(&request);
        if response.status != 400 {
            wrong.push(format!("{}: {}", bad.title, response.status));
            continue;
        }
        let (code, message) = (response.error(), response.message());
        if code != bad.code || !message.contains(&bad.names) {
            let wanted = format!("{} with {:?}", bad.code, bad.names);
            wrong.push(format!("{}: {code}: {message:?}, not {wanted}", bad.title));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(disk::row_counts(&directory), before);
    // The counts do change when something is stored.
    tenant.create(&request_for(&["given_name"]));
    assert_ne!(disk::row_counts(&directory), before);
}

#[test]
fn the_limits_of_every_rule_are_accepted() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let mut filtered = credential("pid", &["given_name"]);
    filtered["claim_filters"] = json!({ "given_name": {} });
    let mut patterned = credential("pid", &["given_name"]);
    patterned["claim_filters"] = json!({ "given_name": { "pattern": "a".repeat(256) } });
    let claims: Vec<String> = (0..100).map(|n| format!("claim_{n}")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let ten: Vec<Value> = (0..10).map(|n| credential(&format!("c{n}"), &["a"])).collect();
    for request in [
        with("ttl_ms", 60_000),
        with("ttl_ms", 86_400_000),
        with("redirect_uri", format!("https://rp.example/{}", "a".repeat(2000 - 19))),
        with("redirect_uri", "myapp://done"),
        with("same_subject_groups", json!([])),
        json!({ "credentials": ten }),
        json!({ "credentials": [credential("pid", &claims)] }),
        json!({ "credentials": [credential(&"i".repeat(128), &["a", "a"])] }),
        json!({ "credentials": [filtered] }),
        json!({ "credentials": [patterned] }),
        json!({
            "credentials": [credential("a", &["x"]), credential("b", &["x"])],
            "same_subject_groups": [["a", "b"], ["b", "a"]],
        }),
    ] {
        tenant.create(&request);
    }
}

#[test]
fn a_creation_in_another_media_type_is_refused() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let body = request_for(&["given_name"]).to_string();
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        let mut request = Request::post("/v1/sessions").bearer(&tenant.api_key).bytes(&*body);
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        tenant.http.send(&request).expect_error(400, "invalid_request");
    }
    let parametrised = Request::post("/v1/sessions")
        .bearer(&tenant.api_key)
        .header("Content-Type", "Application/JSON; charset=utf-8")
        .bytes(&*body);
    tenant.http.send(&parametrised).expect_status(201);
}
