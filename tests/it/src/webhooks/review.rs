//! Operators review webhook hosts while the server runs.

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{Marker, approve, endpoint, failures, notifying, permissive, put_url, retry, settle};
use crate::server::eventually;
use crate::tenant::Gateway;

#[test]
fn notifications_wait_for_approval_and_are_then_sent_in_order() {
    let receiver = Receiver::start();
    let gateway = Gateway::start_on(permissive());
    let mut tenant = gateway.tenant();
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    let settled: Vec<String> = (0..8).map(|_| settle(&mut tenant)).collect();
    let listed = gateway.installation.run_json(&["webhook-host", "list", "--json"]);
    assert_eq!(
        listed["hosts"],
        json!([{
            "host": "127.0.0.1", "host_status": "PENDING", "host_review_note": null,
            "reviewed_at": null, "clients": [gateway.client.client_id]
        }])
    );
    Marker::new(&gateway).pass(&gateway);
    assert!(receiver.all().is_empty() && failures(&mut tenant).is_empty());
    approve(&gateway, "127.0.0.1");
    assert_eq!(endpoint(&mut tenant).json()["host_status"], "APPROVED");
    receiver.wait_for(settled.len());
    assert_eq!(receiver.sessions(), settled);
}

#[test]
fn a_rejected_host_is_never_notified() {
    let receiver = Receiver::start();
    let gateway = Gateway::start_on(permissive());
    let mut tenant = gateway.tenant();
    put_url(&mut tenant, &receiver.url("/")).expect_status(200);
    settle(&mut tenant);
    let reject = ["webhook-host", "reject", "127.0.0.1", "--note", "not yours", "--json"];
    assert_eq!(gateway.installation.run_json(&reject)["given_up"], 1);
    let read = endpoint(&mut tenant).json();
    assert_eq!(
        (&read["host_status"], &read["host_review_note"]),
        (&json!("REJECTED"), &json!("not yours"))
    );
    settle(&mut tenant);
    let given_up = failures(&mut tenant);
    assert_eq!(given_up.len(), 2);
    for failure in &given_up {
        assert_eq!(
            (&failure["attempts"], &failure["error_message"]),
            (&json!(0), &json!("host_rejected"))
        );
        let replayed = retry(&mut tenant, failure["id"].as_str().unwrap());
        assert_eq!(replayed.expect_status(200).json()["status"], "REPLAYED");
    }
    Marker::new(&gateway).pass(&gateway);
    assert!(receiver.all().is_empty());
    assert_eq!(failures(&mut tenant), given_up);
    // Approved after all: given-up notifications are sent on request.
    approve(&gateway, "127.0.0.1");
    assert_eq!(endpoint(&mut tenant).json()["host_review_note"], Value::Null);
    for failure in &given_up {
        retry(&mut tenant, failure["id"].as_str().unwrap()).expect_status(200);
    }
    eventually("both are delivered", || failures(&mut tenant).is_empty());
    assert_eq!(receiver.all().len(), 2);
}

#[test]
fn resetting_a_review_holds_waiting_notifications() {
    let receiver = Receiver::start();
    let (gateway, _) = notifying(&receiver);
    let mut tenant = gateway.tenant();
    let reset = ["webhook-host", "reset", "127.0.0.1", "--json"];
    let expected = json!({
        "host": "127.0.0.1", "host_status": "PENDING", "host_review_note": null, "given_up": 0
    });
    assert_eq!(gateway.installation.run_json(&reset), expected);
    assert_eq!(endpoint(&mut tenant).json()["host_status"], "PENDING");
    settle(&mut tenant);
    Marker::new(&gateway).pass(&gateway);
    assert!(receiver.all().is_empty() && failures(&mut tenant).is_empty());
    approve(&gateway, "127.0.0.1");
    receiver.wait_for(1);
    // A rejection is undone in the same way. A value that is not a host is a usage error.
    let reject = ["webhook-host", "reject", "127.0.0.1", "--note", "not yours"];
    assert_eq!(gateway.installation.run(&reject).code, 0);
    assert_eq!(gateway.installation.run_json(&reset), expected);
    let read = endpoint(&mut tenant).json();
    assert_eq!(
        (&read["host_status"], &read["host_review_note"]),
        (&json!("PENDING"), &Value::Null)
    );
    assert_eq!(gateway.installation.run(&["webhook-host", "reset", "a/b"]).code, 2);
}

#[test]
fn a_review_applies_to_exactly_that_host() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    approve(&gateway, "bücher.example");
    let mut status = |url: &str| {
        put_url(&mut tenant, url).expect_status(200).json()["host_status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for same in [
        "https://bücher.example/",
        "https://XN--BCHER-KVA.example./x",
        "https://BÜCHER.example:8443/",
    ] {
        assert_eq!(status(same), "APPROVED", "{same}");
    }
    for other in [
        "https://bucher.example/",
        "https://xn--bucher-kva.example/",
        "https://www.bücher.example/",
        "https://bücher.example.evil.example/",
        "https://evil.example/bücher.example",
    ] {
        // Some of them are not names at all.
        let answer = put_url(&mut gateway.tenant(), other);
        let approved = answer.status == 200 && answer.json()["host_status"] == "APPROVED";
        assert!(!approved, "{other}");
    }
}

#[test]
fn a_stopping_server_finishes_deliveries_in_progress() {
    let receiver = Receiver::start();
    let (gateway, secret) = notifying(&receiver);
    let mut tenant = gateway.tenant();
    let settled: Vec<String> = (0..5).map(|_| settle(&mut tenant)).collect();
    let Gateway { server, client, installation } = gateway;
    server.terminate();
    let (status, _) = server.wait();
    assert!(status.success());
    let server = installation.serve();
    receiver.wait_for(settled.len());
    for id in &settled {
        let sent = receiver.of_session(id);
        assert_eq!(sent.len(), 1, "{id}");
        sent[0].verify(&secret);
    }
    drop((server, client));
}
