//! Test events: one signed exchange, whose outcome is the answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{ENDPOINT, approve, failures, notifying_from, permissive, put_url, settle};
use crate::http::{Request, Response};
use crate::server::free_address;
use crate::tenant::{Gateway, Tenant, members};

fn test(tenant: &mut Tenant) -> Response {
    let key = tenant.api_key.clone();
    tenant.http.send(&Request::post(format!("{ENDPOINT}/test")).bearer(&key))
}

fn outcome(tenant: &mut Tenant) -> Value {
    let tested = test(tenant).expect_status(200).json();
    let all = ["delivered", "error_message", "http_status", "id", "latency_ms"];
    assert_eq!(members(&tested), all);
    assert!(tested["latency_ms"].is_u64(), "{tested}");
    tested
}

#[test]
fn a_test_event_is_one_signed_delivery_with_its_outcome() {
    let receiver = Receiver::start();
    let (gateway, secret) = notifying_from(permissive().with_machine(), &receiver);
    let mut tenant = gateway.tenant();
    let good = outcome(&mut tenant);
    assert_eq!((&good["delivered"], &good["http_status"]), (&json!(true), &json!(200)));
    assert_eq!(good["error_message"], Value::Null);
    let sent = receiver.all().remove(0);
    assert_eq!(sent.body, br#"{"type":"test"}"#);
    assert_eq!(sent.header("webhook-id"), good["id"]);
    assert_eq!(sent.header("x-webhook-attempt"), "1");
    sent.verify(&secret);
    for status in ["500 Internal Server Error", "302 Found", "410 Gone"] {
        receiver.answer(status, "Location: http://127.0.0.1/\r\n");
        let bad = outcome(&mut tenant);
        let code = status.split(' ').next().unwrap();
        assert_eq!(bad["delivered"], false);
        assert_eq!(bad["http_status"], code.parse::<u16>().unwrap());
        assert_eq!(bad["error_message"], format!("http_status_{code}"));
        assert_ne!(bad["id"], good["id"]);
    }
    // Nothing is stored, so nothing is retried.
    assert_eq!(failures(&mut tenant), [] as [Value; 0]);
    let pending = Request::get("/v1/webhooks/pending").bearer(&tenant.api_key);
    assert_eq!(tenant.http.send(&pending).json()["pending"], json!([]));
    // After the time of a retry, the next notification is for another session.
    gateway.server.rest();
    gateway.installation.machine().jump(Duration::from_secs(7));
    let id = settle(&mut tenant);
    receiver.wait_for(5);
    gateway.server.rest();
    assert_eq!(
        (receiver.all().len(), receiver.all()[4].json()["sessionId"].as_str()),
        (5, Some(&*id))
    );
}

#[test]
fn nothing_is_sent_to_a_host_that_is_not_approved() {
    let receiver = Receiver::start();
    let gateway = Gateway::start_on(permissive());
    let mut tenant = gateway.tenant();
    test(&mut tenant).expect_error(404, "not_found");
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    let refused = test(&mut tenant).expect_error(400, "invalid_webhook_endpoint");
    assert!(refused.json()["message"].as_str().unwrap().contains("PENDING"));
    let reject = ["webhook-host", "reject", "127.0.0.1", "--note", "no"];
    assert_eq!(gateway.installation.run(&reject).code, 0);
    let refused = test(&mut tenant).expect_error(400, "invalid_webhook_endpoint");
    assert!(refused.json()["message"].as_str().unwrap().contains("REJECTED"));
    assert!(receiver.all().is_empty());
}

#[test]
fn a_test_event_that_fails_says_why() {
    let gateway = Gateway::start_on(permissive());
    let mut tenant = gateway.tenant();
    approve(&gateway, "127.0.0.1");
    let closed = free_address();
    approve(&gateway, &closed.ip().to_string());
    put_url(&mut tenant, &format!("http://{closed}/")).expect_status(200);
    let failed = outcome(&mut tenant);
    assert_eq!((&failed["delivered"], &failed["http_status"]), (&json!(false), &Value::Null));
    assert_eq!(failed["error_message"], "connect_failed");
    let plain = Receiver::start();
    let https = plain.url("/").replace("http:", "https:");
    put_url(&mut tenant, &https).expect_status(200);
    assert_eq!(outcome(&mut tenant)["error_message"], "tls_failed");
    assert!(plain.all().is_empty());
}

#[test]
fn test_events_are_limited_to_one_a_second_per_client() {
    let installation = permissive().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::start_on(installation);
    let machine = gateway.installation.machine();
    machine.freeze();
    let other = gateway.installation.create_client("other", true);
    let (mut tenant, mut other) = (gateway.tenant(), gateway.tenant_of(&other));
    let first = test(&mut tenant).expect_error(404, "not_found");
    assert_eq!(first.header("ratelimit-policy"), Some("\"webhook-test\";q=1;w=1"));
    let refused = test(&mut tenant).expect_error(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    test(&mut other).expect_error(404, "not_found");
    machine.jump(Duration::from_millis(990));
    test(&mut tenant).expect_error(429, "rate_limited");
    machine.jump(Duration::from_millis(10));
    test(&mut tenant).expect_error(404, "not_found");
}
