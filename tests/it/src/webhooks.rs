//! Webhooks with the real binary (specification 2, 4, 6; decisions 11).

mod crashes;
mod endpoint;
mod hostile;
mod listening;
mod names;
mod pending;
pub(crate) mod receiver;
mod removal;
mod review;
mod secrets;
mod trials;

use std::time::Duration;

use serde_json::{Value, json};

use self::receiver::Receiver;
use crate::http::{Request, Response};
use crate::server::{Client, Installation, eventually, free_address};
use crate::tenant::{Gateway, Tenant, form, members, request_for, sample_wallet, timestamp};

const ENDPOINT: &str = "/v1/webhook-endpoint";
const FAILURES: &str = "/v1/webhooks/failures";

/// An installation that may notify receivers on loopback, over http.
fn permissive() -> Installation {
    Installation::new()
        .with("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
        .with("IDGATE_WEBHOOK_ALLOW_HTTP", "true")
}

fn put(tenant: &mut Tenant, body: &Value) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::new("PUT", ENDPOINT).bearer(&key).json(body))
}

fn put_url(tenant: &mut Tenant, url: &str) -> Response {
    put(tenant, &json!({ "url": url }))
}

fn endpoint(tenant: &mut Tenant) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::get(ENDPOINT).bearer(&key))
}

fn failures(tenant: &mut Tenant) -> Vec<Value> {
    let key = tenant.api_key.clone();
    let page = tenant.http.send(&Request::get(FAILURES).bearer(&key)).expect_status(200).json();
    assert_eq!(members(&page), ["failures", "has_more", "next_cursor"]);
    page["failures"].as_array().unwrap().clone()
}

fn retry(tenant: &mut Tenant, id: &str) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::post(format!("{FAILURES}/{id}/retry")).bearer(&key))
}

fn approve(gateway: &Gateway, host: &str) {
    gateway.installation.run_json(&["webhook-host", "approve", host, "--json"]);
}

/// A session that is VERIFIED.
fn settle(tenant: &mut Tenant) -> String {
    tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id
}

/// A gateway whose client has an approved endpoint at `receiver`. Returns the signing secret as
/// well.
fn notifying(receiver: &Receiver) -> (Gateway, String) {
    notifying_from(permissive(), receiver)
}

fn notifying_from(installation: Installation, receiver: &Receiver) -> (Gateway, String) {
    let gateway = Gateway::start_on(installation);
    approve(&gateway, "127.0.0.1");
    let put = put_url(&mut gateway.tenant(), &receiver.url("/hook")).expect_status(200).json();
    (gateway, put["signing_secret"].as_str().unwrap().to_owned())
}

/// Lets the sender of a frozen gateway look for due notifications, which it does some milliseconds
/// after a session settles.
fn look(gateway: &Gateway) {
    gateway.server.rest();
    gateway.installation.machine().jump(Duration::from_millis(20));
}

/// The same until `done`.
#[track_caller]
fn deliver(gateway: &Gateway, what: &str, mut done: impl FnMut() -> bool) {
    eventually(what, || {
        let is_done = done();
        if !is_done {
            look(gateway);
        }
        is_done
    });
}

/// A client with a receiver and a host of its own. Once it is notified of a session, everything
/// that was due before that session has been handled as well.
struct Marker {
    receiver: Receiver,
    tenant: Tenant,
}

impl Marker {
    fn new(gateway: &Gateway) -> Self {
        let receiver = Receiver::start_at(free_address().ip());
        approve(gateway, &receiver.address().ip().to_string());
        let client = gateway.installation.create_client("marker", true);
        let mut tenant = gateway.tenant_of(&client);
        put_url(&mut tenant, &receiver.url("/")).expect_status(200);
        Self { receiver, tenant }
    }

    /// Waits until the gateway has sent everything that is due by now.
    #[track_caller]
    fn pass(&mut self, gateway: &Gateway) {
        let before = self.receiver.all().len();
        settle(&mut self.tenant);
        self.receiver.wait_for(before + 1);
        gateway.server.rest();
    }
}

#[test]
fn every_settlement_sends_one_signed_notification_without_claims() {
    let receiver = Receiver::start();
    let (gateway, secret) = notifying(&receiver);
    assert_eq!(secret, gateway.client.signing_secret, "the provisioned one");
    let mut tenant = gateway.tenant();
    let verified = settle(&mut tenant);
    let refused = tenant.create(&request_for(&["given_name"]));
    let stale = sample_wallet().answer_uri(&refused.uri, crate::tenant::now_ms() - 3_600_000);
    tenant.post_answer(&refused.id, &stale.unwrap().form_body()).expect_status(400);
    receiver.wait_for(2);
    for (id, status) in [(&verified, "VERIFIED"), (&refused.id, "FAILED")] {
        let sent = receiver.of_session(id);
        assert_eq!(sent.len(), 1, "{status}");
        let (sent, body) = (&sent[0], sent[0].json());
        assert_eq!(
            members(&body),
            ["clientId", "issuerId", "latencyMs", "sessionId", "status"],
            "{body}"
        );
        assert_eq!(body["status"], status);
        assert_eq!(body["clientId"], gateway.client.client_id);
        assert!(body["latencyMs"].is_u64(), "{body}");
        assert_eq!(sent.request_line, "POST /hook HTTP/1.1");
        assert_eq!(sent.header("content-type"), "application/json");
        assert_eq!(sent.header("x-webhook-attempt"), "1");
        sent.verify(&secret);
    }
    assert_eq!(failures(&mut tenant), [] as [Value; 0]);
    // No notification contains a claim value.
    for sent in receiver.all() {
        assert!(!format!("{sent:?}").contains("Erika"));
    }
}

#[test]
fn a_failed_delivery_is_retried_and_becomes_a_dead_letter() {
    let receiver = Receiver::start();
    receiver.answer("410 Gone", "");
    let (gateway, secret) = notifying(&receiver);
    let mut tenant = gateway.tenant();
    let id = settle(&mut tenant);
    eventually("it is given up", || !failures(&mut tenant).is_empty());
    let listed = failures(&mut tenant).remove(0);
    assert_eq!(
        members(&listed),
        ["attempts", "client_id", "error_message", "failed_at", "id", "payload", "session_id"]
    );
    assert_eq!(listed["session_id"], id.as_str());
    assert_eq!(listed["payload"], receiver.all()[0].json());
    assert_eq!(
        (&listed["attempts"], &listed["error_message"]),
        (&1.into(), &"http_status_410".into())
    );
    assert!(timestamp(&listed["failed_at"]) > 0);
    let failure = listed["id"].as_str().unwrap().to_owned();
    // The same for operators.
    let all = gateway.installation.run_json(&["dead-letters", "list", "--json"]);
    assert_eq!(all, json!({ "dead_letters": [listed] }));
    // A failed retry is counted; a successful one removes the dead letter.
    let replayed = retry(&mut tenant, &failure).expect_status(200).json();
    assert_eq!(replayed, json!({ "status": "REPLAYED", "id": failure, "session_id": id }));
    eventually("the retry is counted", || failures(&mut tenant)[0]["attempts"] == 2);
    receiver.answer("200 OK", "");
    let retried = gateway.installation.run_json(&["dead-letters", "retry", &failure, "--json"]);
    assert_eq!(retried, replayed);
    eventually("the retry succeeds", || failures(&mut tenant).is_empty());
    let sent = receiver.all();
    assert_eq!(sent.len(), 3);
    for sent in &sent {
        sent.verify(&secret);
        assert_eq!(sent.header("webhook-id"), failure);
    }
    retry(&mut tenant, &failure).expect_error(404, "not_found");
    let gone = gateway.installation.run(&["dead-letters", "retry", &failure]);
    assert_eq!(gone.code, 4);
}

#[test]
fn a_failed_delivery_is_retried_after_five_seconds() {
    let receiver = Receiver::start();
    receiver.answer("503 Later", "");
    let (gateway, secret) = notifying_from(permissive().with_machine(), &receiver);
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    settle(&mut tenant);
    let pending = Request::get("/v1/webhooks/pending").bearer(&tenant.api_key);
    let mut pending = || tenant.http.send(&pending).expect_status(200).json()["pending"][0].clone();
    let before = machine.now_ms();
    deliver(&gateway, "the attempt fails", || pending()["attempts"] == 1);
    let (next, now) = (timestamp(&pending()["next_attempt_at"]), machine.now_ms());
    // Five seconds, give or take a fifth.
    assert!((before + 4_000..=now + 6_000).contains(&next), "{before} {now} {next}");
    receiver.answer("204 No Content", "");
    gateway.server.rest();
    machine.jump(Duration::from_millis(next - now - 1));
    gateway.server.rest();
    assert_eq!(receiver.all().len(), 1);
    // Due notifications are looked for twice a second.
    machine.jump(Duration::from_millis(501));
    receiver.wait_for(2);
    let sent = receiver.all();
    assert_eq!(sent[1].header("x-webhook-attempt"), "2");
    assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
    sent[1].verify(&secret);
}

#[test]
fn dead_letters_and_cursors_are_separate_for_each_client() {
    let receiver = Receiver::start();
    receiver.answer("410 Gone", "");
    let (gateway, _) = notifying(&receiver);
    let other = gateway.installation.create_client("other", true);
    let (mut tenant, mut other) = (gateway.tenant(), gateway.tenant_of(&other));
    for _ in 0..3 {
        settle(&mut tenant);
    }
    eventually("three are given up", || failures(&mut tenant).len() == 3);
    let id = failures(&mut tenant)[0]["id"].as_str().unwrap().to_owned();
    assert!(failures(&mut other).is_empty());
    retry(&mut other, &id).expect_error(404, "not_found");
    let page = |tenant: &mut Tenant, query: &str| {
        let key = tenant.api_key.clone();
        tenant.http.send(&Request::get(format!("{FAILURES}?{query}")).bearer(&key))
    };
    let first = page(&mut tenant, "limit=2").expect_status(200).json();
    assert_eq!(
        (first["failures"].as_array().unwrap().len(), &first["has_more"]),
        (2, &json!(true))
    );
    let cursor = first["next_cursor"].as_str().unwrap().to_owned();
    let second = page(&mut tenant, &format!("limit=2&cursor={cursor}")).expect_status(200).json();
    assert_eq!(second["failures"].as_array().unwrap().len(), 1);
    assert_eq!((&second["has_more"], &second["next_cursor"]), (&json!(false), &Value::Null));
    page(&mut other, &format!("cursor={cursor}")).expect_error(400, "invalid_cursor");
    for bad in ["", "x", &cursor[1..], &format!("{cursor}A")] {
        page(&mut tenant, &format!("cursor={bad}")).expect_error(400, "invalid_cursor");
    }
    for bad in ["0", "101", "-1", "x", ""] {
        page(&mut tenant, &format!("limit={bad}")).expect_error(400, "invalid_limit");
    }
}

#[test]
fn deleting_a_session_sends_no_notification() {
    let receiver = Receiver::start();
    receiver.answer("410 Gone", "");
    let (gateway, _) = notifying(&receiver);
    let mut tenant = gateway.tenant();
    let id = settle(&mut tenant);
    eventually("it is given up", || !failures(&mut tenant).is_empty());
    tenant.delete(&id).expect_status(204);
    assert!(failures(&mut tenant).is_empty());
}

/// By the gateway's clock, however long that takes.
#[test]
fn a_healthy_receiver_is_notified_within_a_second() {
    let receiver = Receiver::start();
    let (gateway, secret) = notifying_from(permissive().with_machine(), &receiver);
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    let count = 100;
    for _ in 0..count {
        let created = tenant.create(&request_for(&["given_name"]));
        tenant.post_answer(&created.id, &form(&wallet, &created)).expect_status(200);
    }
    let begun = machine.now_ms();
    deliver(&gateway, "all are delivered", || receiver.all().len() >= count);
    assert!(machine.now_ms() - begun < 1000);
    receiver.all().iter().for_each(|sent| sent.verify(&secret));
    gateway.server.rest();
    assert_eq!(receiver.all().len(), count);
}

fn client_of(gateway: &Gateway, name: &str, live: bool) -> Client {
    gateway.installation.create_client(name, !live)
}
