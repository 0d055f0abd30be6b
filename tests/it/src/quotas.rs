//! The quotas and limits of one client, over HTTP and with the operator's commands (decisions 25).

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Http, Request, Response};
use crate::server::Installation;
use crate::tenant::{Gateway, Tenant, form, members, request_for, sample_wallet};

const KEYS: &str = "/v1/api-keys";

fn send(http: &mut Http, key: &str, request: Request) -> Response {
    http.send(&request.bearer(key))
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}")).into()
}

/// A key made by the client's first one.
fn key_with(tenant: &mut Tenant, scopes: &[&str], expires_at: Option<&str>) -> (String, String) {
    let body = json!({ "scopes": scopes, "expires_at": expires_at });
    let made = send(&mut tenant.http, &tenant.api_key, Request::post(KEYS).json(&body));
    let made = made.expect_status(201).json();
    (text(&made, "id"), text(&made, "api_key"))
}

fn operators_key(tenant: &mut Tenant) -> String {
    let list = send(&mut tenant.http, &tenant.api_key, Request::get(KEYS)).json();
    let keys = list["api_keys"].as_array().unwrap();
    text(keys.iter().find(|key| key["scopes"].is_null()).unwrap(), "id")
}

#[test]
fn a_key_manager_rotates_only_keys_within_its_scopes() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let operators = operators_key(&mut tenant);
    let (manager_id, manager) = key_with(&mut tenant, &["api_keys:manage"], None);
    let (other, _) = key_with(&mut tenant, &["session:read"], None);
    for beyond in [&operators, &other] {
        let rotate = Request::post(format!("{KEYS}/{beyond}/rotate"));
        send(&mut tenant.http, &manager, rotate).expect_error(403, "insufficient_scope");
    }
    // A key that was not rotated still works. A key may rotate others within its own scopes.
    let rotate = |id: &str| Request::post(format!("{KEYS}/{id}/rotate"));
    send(&mut tenant.http, &tenant.api_key, rotate(&other)).expect_status(200);
    send(&mut tenant.http, &manager, rotate(&manager_id)).expect_status(200);
    send(&mut tenant.http, &manager, rotate(&manager_id)).expect_error(401, "invalid_api_key");
}

#[test]
fn a_key_that_expires_makes_and_rotates_only_keys_that_expire_no_later() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let last = "2990-01-01T00:00:00.000Z";
    let (brief_id, brief) = key_with(&mut tenant, &["api_keys:manage", "session:read"], Some(last));
    let (forever, _) = key_with(&mut tenant, &["session:read"], None);
    let make = |expires_at: Value| {
        let body = json!({ "scopes": ["session:read"], "expires_at": expires_at });
        Request::post(KEYS).json(&body)
    };
    for later in [Value::Null, json!("2990-01-01T00:00:00.001Z")] {
        send(&mut tenant.http, &brief, make(later)).expect_error(400, "invalid_expiry");
    }
    let without = Request::post(KEYS).json(&json!({ "scopes": ["session:read"] }));
    send(&mut tenant.http, &brief, without).expect_error(400, "invalid_expiry");
    send(&mut tenant.http, &brief, make(json!(last))).expect_status(201);
    let rotate = |id: &str| Request::post(format!("{KEYS}/{id}/rotate"));
    send(&mut tenant.http, &brief, rotate(&forever)).expect_error(403, "insufficient_scope");
    send(&mut tenant.http, &brief, rotate(&brief_id)).expect_status(200);
}

#[test]
fn a_client_has_no_more_active_keys_than_its_key_quota() {
    let gateway = Gateway::start_on(Installation::new().with("IDGATE_MAX_KEYS", "3"));
    let mut tenant = gateway.tenant();
    let (first, _) = key_with(&mut tenant, &["session:read"], None);
    key_with(&mut tenant, &["session:read"], None);
    let one_more = || Request::post(KEYS).json(&json!({ "scopes": ["session:read"] }));
    send(&mut tenant.http, &tenant.api_key, one_more()).expect_error(400, "quota_exceeded");
    let revoke = Request::delete(format!("{KEYS}/{first}"));
    send(&mut tenant.http, &tenant.api_key, revoke).expect_status(204);
    send(&mut tenant.http, &tenant.api_key, one_more()).expect_status(201);
    send(&mut tenant.http, &tenant.api_key, one_more()).expect_error(400, "quota_exceeded");
    // The operator raises one client's quota, which applies immediately.
    let id = &gateway.client.client_id;
    gateway.installation.run_json(&["client", "set", id, "--quota", "keys=4", "--json"]);
    send(&mut tenant.http, &tenant.api_key, one_more()).expect_status(201);
    send(&mut tenant.http, &tenant.api_key, one_more()).expect_error(400, "quota_exceeded");
}

#[test]
fn a_client_has_no_more_open_sessions_than_its_quota() {
    let installation = Installation::new().with("IDGATE_MAX_OPEN_SESSIONS_TEST", "2");
    let gateway = Gateway::start_on(installation);
    let mut tenant = gateway.tenant();
    let request = request_for(&["given_name"]);
    let full = |tenant: &mut Tenant| {
        let refused = tenant.post_session(&request);
        assert!(refused.header("retry-after").is_some());
        refused.expect_error(429, "quota_exceeded");
    };
    let (first, second) = (tenant.create(&request), tenant.create(&request));
    full(&mut tenant);
    // A rejected creation with an idempotency key stores nothing either.
    let once = || {
        let request = Request::post("/v1/sessions").json(&request);
        request.bearer(&gateway.client.api_key).header("Idempotency-Key", "k")
    };
    tenant.http.send(&once()).expect_error(429, "quota_exceeded");
    tenant.post_answer(&first.id, &form(&sample_wallet(), &first)).expect_status(200);
    let made = tenant.http.send(&once()).expect_status(201).json();
    assert_eq!(tenant.http.send(&once()).expect_status(201).json(), made);
    full(&mut tenant);
    tenant.delete(&second.id).expect_status(204);
    tenant.create(&request);
    full(&mut tenant);
    // Deleting a settled session frees no room, and a restart counts the same.
    tenant.delete(&first.id).expect_status(204);
    full(&mut tenant);
    let Gateway { server, client, installation } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let gateway = Gateway { server: installation.serve(), client, installation };
    full(&mut gateway.tenant());
    let other = gateway.installation.create_client("other", true);
    gateway.tenant_of(&other).create(&request);
}

#[test]
fn every_rate_limited_answer_has_the_remaining_quota() {
    let installation = Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::start_on(installation);
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let (_, reader) = key_with(&mut tenant, &["session:read"], None);
    let own = tenant.api_key.clone();
    let create = || Request::post("/v1/sessions").json(&request_for(&["given_name"]));
    let made = send(&mut tenant.http, &own, create()).expect_status(201);
    assert_eq!(made.header("ratelimit"), Some("\"create\";r=24;t=1"));
    let id = text(&made.json(), "session_id");
    for (key, request, status, policy) in [
        (&own, create(), 201, "\"create\";q=25;w=5"),
        (&own, Request::post("/v1/sessions").bytes("{"), 400, "\"create\";q=25;w=5"),
        (&reader, create(), 403, "\"create\";q=25;w=5"),
        (&own, Request::get(format!("/v1/sessions/{id}")), 200, "\"read\";q=50;w=2"),
        (&own, Request::get("/v1/sessions/x"), 404, "\"read\";q=50;w=2"),
        (&own, Request::delete(format!("/v1/sessions/{id}")), 204, "\"delete\";q=100;w=4"),
        (&own, Request::get(KEYS), 200, "\"api-keys\";q=20;w=4"),
        (&reader, Request::get(KEYS), 403, "\"api-keys\";q=20;w=4"),
        (&own, Request::get("/v1/webhook-endpoint"), 404, "\"webhook-endpoint\";q=20;w=4"),
    ] {
        let answer = send(&mut tenant.http, key, request).expect_status(status);
        assert_eq!(answer.header("ratelimit-policy"), Some(policy));
        assert!(answer.header("ratelimit").is_some() && answer.header("retry-after").is_none());
    }
    let free = send(&mut tenant.http, &own, Request::get("/v1/audit-log")).expect_status(200);
    assert_eq!(free.header("ratelimit"), None);
    let stranger = tenant.http.send(&Request::get(KEYS)).expect_status(401);
    assert_eq!(stranger.header("ratelimit"), None);
}

#[test]
fn keys_and_the_webhook_endpoint_are_limited_to_five_a_second() {
    let installation = Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::start_on(installation);
    let machine = gateway.installation.machine();
    machine.freeze();
    let key = &gateway.client.api_key;
    for path in [KEYS, "/v1/webhook-endpoint"] {
        let mut http = gateway.http();
        let mut passed = || {
            (0..100).take_while(|_| send(&mut http, key, Request::get(path)).status != 429).count()
        };
        assert_eq!(passed(), 20, "{path}");
        machine.jump(Duration::from_secs(1));
        assert_eq!(passed(), 5, "{path}");
        let refused = send(&mut http, key, Request::get(path));
        assert!(refused.header("retry-after").is_some());
        refused.expect_error(429, "rate_limited");
    }
    let other = gateway.installation.create_client("other", true);
    send(&mut gateway.http(), &other.api_key, Request::get(KEYS)).expect_status(200);
}

#[test]
fn the_list_of_keys_is_paged_and_bounded() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let own = tenant.api_key.clone();
    for _ in 0..210 {
        let (id, _) = key_with(&mut tenant, &["session:read"], None);
        send(&mut tenant.http, &own, Request::delete(format!("{KEYS}/{id}"))).expect_status(204);
    }
    let list = send(&mut tenant.http, &own, Request::get(KEYS)).expect_status(200).json();
    assert_eq!(members(&list), ["api_keys"]);
    let listed = list["api_keys"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["revoked"]), (200, &json!(false)));
    let (mut seen, mut query) = (0, "?limit=100".to_owned());
    loop {
        let page = send(&mut tenant.http, &own, Request::get(format!("{KEYS}{query}")));
        let page = page.expect_status(200).json();
        assert_eq!(members(&page), ["api_keys", "has_more", "next_cursor"]);
        seen += page["api_keys"].as_array().unwrap().len();
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=100&cursor={cursor}");
    }
    assert_eq!(seen, 211);
    let bad = |query: &str| Request::get(format!("{KEYS}{query}"));
    send(&mut tenant.http, &own, bad("?limit=0")).expect_error(400, "invalid_limit");
    send(&mut tenant.http, &own, bad("?cursor=x")).expect_error(400, "invalid_cursor");
}

#[test]
fn operators_create_list_and_revoke_a_clients_keys() {
    let gateway = Gateway::start();
    let (installation, id) = (&gateway.installation, &gateway.client.client_id);
    let made = installation.run_json(&[
        "client",
        "key",
        "create",
        id,
        "--scopes",
        "session:read",
        "--name",
        "till",
        "--json",
    ]);
    let (key_id, key) = (text(&made, "id"), text(&made, "api_key"));
    assert_eq!((&made["client_id"], &made["scopes"]), (&json!(id), &json!(["session:read"])));
    let works = || send(&mut gateway.http(), &key, Request::get("/v1/sessions/x")).status == 404;
    assert!(works());
    let list = installation.run_json(&["client", "key", "list", id, "--json"]);
    assert_eq!(list["keys"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&list["keys"][0]["name"], &list["keys"][0]["state"]),
        (&json!("till"), &json!("active"))
    );
    assert!(!list.to_string().contains(&key));
    installation.run_json(&["client", "key", "revoke", &key_id, "--json"]);
    assert!(!works());
    installation.run_json(&["client", "key", "revoke", id, &key_id, "--json"]);
    for missing in [
        &["client", "key", "create", "cli_none"][..],
        &["client", "key", "list", "cli_none"],
        &["client", "key", "revoke", "key_none"],
        &["client", "key", "revoke", "cli_none", &key_id],
    ] {
        assert_eq!(installation.run(missing).code, 4, "{missing:?}");
    }
    let origin = ["client", "origin", "add", id, "https://shop.example", "--json"];
    let shown = installation.run_json(&origin);
    assert_eq!(shown["origins"], json!(["https://shop.example"]));
    let list = installation.run_json(&["client", "list", "--json"]);
    assert_eq!(list["clients"][0]["origins"], json!(["https://shop.example"]));
}
