//! `POST /v1/sessions` under an `Idempotency-Key` (decisions 4).

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};

use crate::disk;
use crate::http::{Request, Response};
use crate::tenant::{Created, Gateway, Tenant, form, request_for, sample_wallet};

fn post(tenant: &mut Tenant, key: &str, body: &str) -> Response {
    let request = Request::post("/v1/sessions")
        .bearer(&tenant.api_key)
        .header("Content-Type", "application/json")
        .header("Idempotency-Key", key)
        .bytes(body);
    tenant.http.send(&request)
}

fn body() -> String {
    request_for(&["given_name"]).to_string()
}

#[test]
fn the_same_key_and_body_give_the_same_answer() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let first = post(&mut tenant, "order-1", &body()).expect_status(201);
    let again = post(&mut tenant, "order-1", &body()).expect_status(201);
    assert_eq!(again.body, first.body);
    // Also after the session has ended, and after a restart.
    let created = Created::of(first.json());
    let answer = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &answer).expect_status(200);
    assert_eq!(post(&mut tenant, "order-1", &body()).body, first.body);
    let Gateway { server, client, installation } = gateway;
    server.kill();
    let gateway = Gateway { server: installation.serve(), client, installation };
    let mut tenant = gateway.tenant();
    assert_eq!(post(&mut tenant, "order-1", &body()).body, first.body);
    // Another key, or none, gives another session.
    let ids: BTreeSet<String> = [
        post(&mut tenant, "order-2", &body()),
        tenant.post_session(&request_for(&["given_name"])),
        first,
    ]
    .iter()
    .map(|answer| answer.json()["session_id"].to_string())
    .collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn the_same_key_with_another_body_is_400() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let first = post(&mut tenant, "k", &body()).expect_status(201);
    let other = request_for(&["birthdate"]).to_string();
    for other in [other.as_str(), &format!("{} ", body()), "{}", "{"] {
        let refused = post(&mut tenant, "k", other).expect_error(400, "invalid_request");
        assert!(refused.message().contains("Idempotency-Key"), "{}", refused.message());
    }
    assert_eq!(post(&mut tenant, "k", &body()).body, first.body);
}

#[test]
fn a_rejected_creation_is_not_stored_under_its_idempotency_key() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    post(&mut tenant, "k", "{}").expect_error(400, "invalid_request");
    post(&mut tenant, "k", &body()).expect_status(201);
}

#[test]
fn of_many_at_once_one_makes_a_session() {
    let gateway = Gateway::start();
    let before = sessions(&gateway);
    let bodies: BTreeSet<Vec<u8>> = thread::scope(|scope| {
        let attempts: Vec<_> =
            (0..16).map(|_| scope.spawn(|| post(&mut gateway.tenant(), "k", &body()))).collect();
        attempts.into_iter().map(|it| it.join().unwrap().expect_status(201).body).collect()
    });
    assert_eq!((bodies.len(), sessions(&gateway)), (1, before + 1));
}

fn sessions(gateway: &Gateway) -> i64 {
    disk::row_counts(&gateway.installation.data_dir())["idgate.db.sessions"]
}

#[test]
fn idempotency_keys_are_separate_for_each_client() {
    let gateway = Gateway::start();
    let other = gateway.installation.create_client("other", true);
    let ids = [gateway.tenant(), gateway.tenant_of(&other)].map(|mut tenant| {
        post(&mut tenant, "k", &body()).expect_status(201).json()["session_id"].to_string()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_malformed_idempotency_key_is_400() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for bad in ["", "a b", "é", &"k".repeat(256)] {
        post(&mut tenant, bad, &body()).expect_error(400, "invalid_request");
    }
    post(&mut tenant, &"k".repeat(255), &body()).expect_status(201);
    let twice = Request::post("/v1/sessions").bearer(&tenant.api_key);
    let twice = twice.header("Idempotency-Key", "a").header("Idempotency-Key", "a");
    tenant
        .http
        .send(&twice.json(&request_for(&["given_name"])))
        .expect_error(400, "invalid_request");
}

#[test]
fn deleting_a_session_removes_its_sealed_idempotent_answer() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let first = post(&mut tenant, "a-key-to-look-for", &body()).expect_status(201).json();
    let created = Created::of(first.clone());
    let request = idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap();
    let directory = gateway.installation.data_dir();
    let secrets = [request.nonce, request.state, "a-key-to-look-for".into()];
    let secrets: Vec<Vec<u8>> = secrets.into_iter().map(String::into_bytes).collect();
    assert!(disk::files_with(&directory, &secrets).is_empty());
    let answers = || disk::row_counts(&directory)["idgate.db.idempotent_answers"];
    assert_eq!(answers(), 1);
    tenant.delete(&created.id).expect_status(204);
    assert_eq!(answers(), 0);
    let second: Value = post(&mut tenant, "a-key-to-look-for", &body()).expect_status(201).json();
    assert_ne!(second["session_id"], json!(created.id));
}
