//! Pending notifications, as their tenant sees them.

use std::time::Duration;

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{approve, permissive, put_url, settle};
use crate::http::{Request, Response};
use crate::server::eventually;
use crate::tenant::{Gateway, Tenant, members, timestamp};

fn page(tenant: &mut Tenant, query: &str) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::get(format!("/v1/webhooks/pending?{query}")).bearer(&key))
}

fn pending(tenant: &mut Tenant) -> Vec<Value> {
    let page = page(tenant, "").expect_status(200).json();
    assert_eq!(members(&page), ["has_more", "next_cursor", "pending"]);
    page["pending"].as_array().unwrap().clone()
}

#[test]
fn pending_notifications_show_held_or_the_next_attempt() {
    let receiver = Receiver::start();
    receiver.answer("500 Internal Server Error", "");
    let gateway = Gateway::start_on(permissive().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    assert_eq!(pending(&mut tenant), [] as [Value; 0]);
    let id = settle(&mut tenant);
    let held = pending(&mut tenant).remove(0);
    assert_eq!(members(&held), ["attempts", "held", "id", "session_id", "status"]);
    assert_eq!(held["held"], true);
    assert_eq!((&held["session_id"], &held["status"]), (&json!(id), &json!("VERIFIED")));
    approve(&gateway, "127.0.0.1");
    gateway.server.rest();
    machine.jump(Duration::from_secs(1));
    eventually("the first attempt fails", || pending(&mut tenant)[0]["attempts"] == 1);
    let failed = pending(&mut tenant).remove(0);
    assert_eq!(members(&failed), ["attempts", "id", "next_attempt_at", "session_id", "status"]);
    assert_eq!(failed["id"], receiver.all()[0].header("webhook-id"));
    let wait = timestamp(&failed["next_attempt_at"]) - machine.now_ms();
    assert!((4000..=6000).contains(&wait), "{wait}");
    receiver.answer("200 OK", "");
    gateway.server.rest();
    machine.jump(Duration::from_secs(7));
    eventually("it is delivered", || pending(&mut tenant).is_empty());
}

#[test]
fn pending_pages_continue_and_cursors_are_bound_to_list_and_client() {
    let gateway = Gateway::start_on(permissive());
    let other = gateway.installation.create_client("other", true);
    let (mut tenant, mut other) = (gateway.tenant(), gateway.tenant_of(&other));
    put_url(&mut tenant, "https://shop.example/").expect_status(200);
    let settled: Vec<String> = (0..3).map(|_| settle(&mut tenant)).collect();
    let mut listed = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = page(&mut tenant, &query).expect_status(200).json();
        let rows = page["pending"].as_array().unwrap();
        listed.extend(rows.iter().map(|row| row["session_id"].as_str().unwrap().to_owned()));
        assert_eq!(page["has_more"], !page["next_cursor"].is_null());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("limit=2&cursor={cursor}");
    }
    assert_eq!(listed, settled.into_iter().rev().collect::<Vec<_>>());
    page(&mut other, &query).expect_error(400, "invalid_cursor");
    assert!(pending(&mut other).is_empty());
    let cursor = query.replace("limit=2&", "");
    let failures = Request::get(format!("/v1/webhooks/failures?{cursor}")).bearer(&tenant.api_key);
    tenant.http.send(&failures).expect_error(400, "invalid_cursor");
    for bad in ["0", "101", "-1", "x", ""] {
        page(&mut tenant, &format!("limit={bad}")).expect_error(400, "invalid_limit");
    }
}
