//! Removing the endpoint: waiting notifications are given up, and its secrets are erased.

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{
    ENDPOINT, Marker, approve, endpoint, failures, notifying, permissive, put, put_url, retry,
    settle,
};
use crate::disk;
use crate::http::{Request, Response};
use crate::server::eventually;
use crate::tenant::{Gateway, Tenant};

fn remove(tenant: &mut Tenant) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::delete(ENDPOINT).bearer(&key))
}

fn reasons(tenant: &mut Tenant) -> Vec<Value> {
    failures(tenant).into_iter().map(|failure| failure["error_message"].clone()).collect()
}

#[test]
fn removing_an_endpoint_turns_waiting_notifications_into_dead_letters() {
    let receiver = Receiver::start();
    receiver.answer("500 Internal Server Error", "");
    let gateway = Gateway::start_on(permissive());
    let mut tenant = gateway.tenant();
    remove(&mut tenant).expect_error(404, "not_found");
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    settle(&mut tenant);
    assert!(remove(&mut tenant).expect_status(204).body.is_empty());
    assert_eq!(reasons(&mut tenant), ["endpoint_missing"]);
    remove(&mut tenant).expect_error(404, "not_found");
    endpoint(&mut tenant).expect_error(404, "not_found");
    approve(&gateway, "127.0.0.1");
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    settle(&mut tenant);
    receiver.wait_for(1);
    remove(&mut tenant).expect_status(204);
    eventually("it is given up", || reasons(&mut tenant) == ["endpoint_missing"; 2]);
    // Without an endpoint nothing is queued, and nothing is sent again.
    settle(&mut tenant);
    let listed = failures(&mut tenant);
    assert_eq!(listed.len(), 2);
    retry(&mut tenant, listed[0]["id"].as_str().unwrap()).expect_status(200);
    Marker::new(&gateway).pass(&gateway);
    assert_eq!((receiver.all().len(), failures(&mut tenant)), (1, listed));
}

#[test]
fn the_next_endpoint_has_a_new_secret_and_the_old_one_signs_nothing() {
    let receiver = Receiver::start();
    let (gateway, provisioned) = notifying(&receiver);
    let mut tenant = gateway.tenant();
    remove(&mut tenant).expect_status(204);
    let again = put_url(&mut tenant, &receiver.url("/")).expect_status(200).json();
    let secret = again["signing_secret"].as_str().unwrap().to_owned();
    assert_ne!(secret, provisioned);
    assert_eq!(again["host_status"], "APPROVED");
    settle(&mut tenant);
    receiver.wait_for(1);
    let sent = &receiver.all()[0];
    sent.verify(&secret);
    let one_signature = !sent.header("webhook-signature").contains(' ');
    assert!(one_signature, "the removed secret signs as well");
    // A client that supplies a secret gets that one.
    remove(&mut tenant).expect_status(204);
    let own = json!({ "url": receiver.url("/"), "signing_secret": "0123456789abcdef" });
    let own = put(&mut tenant, &own).expect_status(200).json();
    assert_eq!(own["signing_secret"], "0123456789abcdef");
    let secrets = [&secret[6..], &provisioned[6..]].map(|it| it.as_bytes().to_vec());
    let found = disk::files_with(&gateway.installation.data_dir(), &secrets);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn an_endpoint_removal_is_audited_and_only_for_its_mode() {
    let gateway = Gateway::start();
    let live = gateway.installation.create_client("live", false);
    let (mut tenant, mut live) = (gateway.tenant(), gateway.tenant_of(&live));
    put_url(&mut tenant, "https://shop.example/").expect_status(200);
    remove(&mut live).expect_error(404, "not_found");
    remove(&mut tenant).expect_status(204);
    let log = Request::get("/v1/audit-log").bearer(&tenant.api_key);
    let log = tenant.http.send(&log).expect_status(200).json();
    let newest = &log["entries"][0];
    assert_eq!(newest["status"], "WEBHOOK_ENDPOINT_REMOVED");
    assert!(newest["actor"].as_str().unwrap().starts_with("key_"), "{newest}");
    assert_eq!(newest["chain_intact"], true);
}
