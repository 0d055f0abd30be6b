//! The messages of a stream, from the first event to its end.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::http::{Http, Request};
use crate::server::{Installation, eventually};
use crate::tenant::{
    Gateway, Tenant, form, members, request_for, sample_wallet, timestamp, wallet_with,
};

/// A gateway whose time the test controls.
fn on_a_machine() -> Gateway {
    Gateway::start_on(Installation::new().with_machine())
}

/// Lets this time pass for a gateway that has finished its work.
fn pass(gateway: &Gateway, time: Duration) {
    gateway.server.rest();
    gateway.installation.machine().jump(time);
}

fn open(gateway: &Gateway, session: &str) -> Stream {
    Stream::open(gateway.server.address, session, &gateway.client.api_key)
}

fn open_after(gateway: &Gateway, session: &str, after: u64) -> Stream {
    Stream::open_after(gateway.server.address, session, &gateway.client.api_key, after)
}

#[test]
fn messages_have_the_documented_form_and_end_with_the_session() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut stream = open(&gateway, &created.id);
    let mut messages = vec![stream.message(), stream.message()];
    let stale = sample_wallet().answer_uri(&created.uri, 0).unwrap();
    tenant.post_answer(&created.id, &stale.form_body()).expect_status(400);
    messages.push(stream.message());
    assert_eq!(stream.close(), Some(1000));
    let statuses = ["CREATED", "PENDING", "FAILED"];
    for ((message, status), seq) in messages.iter().zip(statuses).zip(1..) {
        let mut expected = json!({
            "type": "status", "seq": seq, "session_id": created.id, "status": status,
            "livemode": false, "occurred_at": message["occurred_at"]
        });
        timestamp(&message["occurred_at"]);
        if status == "FAILED" {
            expected["reason"] = tenant.read(&created.id)["reason"].clone();
        }
        assert_eq!(*message, expected);
    }
    assert!(messages[2]["reason"].is_string());
}

#[test]
fn a_stream_never_carries_claims() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = wallet_with(&[("given_name", "Sentinel-stream-K8")]);
    let created = tenant.verified(&request_for(&["given_name"]), &wallet);
    assert_eq!(tenant.read(&created.id)["claims"]["pid"]["given_name"], "Sentinel-stream-K8");
    let mut stream = open(&gateway, &created.id);
    for _ in 0..3 {
        let message = stream.message();
        let names = ["livemode", "occurred_at", "seq", "session_id", "status", "type"];
        assert_eq!(members(&message), names);
    }
    assert_eq!(stream.close(), Some(1000));
}

#[test]
fn after_resumes_where_a_reader_stopped_and_beyond_the_last_is_1008() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let settled = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    let all = ["CREATED", "PENDING", "VERIFIED"];
    for after in 0..=3 {
        let mut stream = open_after(&gateway, &settled.id, after);
        let rest = &all[usize::try_from(after).unwrap()..];
        assert_eq!(stream.statuses(rest.len()), rest);
        assert_eq!(stream.close(), Some(1000));
    }
    let pending = tenant.create(&request_for(&["given_name"]));
    for (session, after) in [(&settled, 4), (&settled, u64::MAX), (&pending, 3)] {
        assert_eq!(open_after(&gateway, &session.id, after).close(), Some(1008));
    }
    // After the last event there is nothing yet.
    let mut stream = open_after(&gateway, &pending.id, 2);
    stream.send(&frame(0x89, b"?"));
    assert_eq!(stream.next(), Got::Pong(b"?".into()));
    tenant.post_answer(&pending.id, &form(&sample_wallet(), &pending)).expect_status(200);
    assert_eq!(stream.statuses(1), ["VERIFIED"]);
}

#[test]
fn a_status_on_the_stream_is_visible_to_a_get_sent_after_it() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    for _ in 0..100 {
        let created = tenant.create(&request_for(&["given_name"]));
        let mut stream = open_after(&gateway, &created.id, 2);
        let body = form(&wallet, &created);
        thread::scope(|scope| {
            scope.spawn(|| gateway.tenant().post_answer(&created.id, &body).expect_status(200));
            assert_eq!(stream.statuses(1), ["VERIFIED"]);
            let session = tenant.read(&created.id);
            assert_eq!(session["status"], "VERIFIED");
            assert_eq!(session["claims"], json!({ "pid": { "given_name": "Erika" } }));
        });
    }
}

#[test]
fn a_deleted_session_is_4404() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut readers = [open(&gateway, &created.id), open(&gateway, &created.id)];
    for reader in &mut readers {
        assert_eq!(reader.statuses(2), ["CREATED", "PENDING"]);
    }
    tenant.delete(&created.id).expect_status(204);
    for reader in readers {
        assert_eq!(reader.close(), Some(4404));
    }
}

#[test]
fn revoking_a_client_closes_its_streams_with_4401_within_a_second() {
    let gateway = on_a_machine();
    let other = gateway.installation.create_client("other", true);
    let mut bystander = gateway.tenant();
    let theirs = gateway.tenant_of(&other).create(&request_for(&["given_name"]));
    let ours = bystander.create(&request_for(&["given_name"]));
    let mut revoked = Stream::open(gateway.server.address, &theirs.id, &other.api_key);
    let mut stays = open(&gateway, &ours.id);
    assert_eq!(revoked.statuses(2), stays.statuses(2));
    gateway.installation.machine().freeze();
    assert_eq!(gateway.installation.run(&["client", "revoke", &other.client_id]).code, 0);
    pass(&gateway, Duration::from_secs(1));
    assert_eq!(revoked.next(), Got::Close(Some(4401)));
    bystander.post_answer(&ours.id, &form(&sample_wallet(), &ours)).expect_status(200);
    assert_eq!(stays.statuses(1), ["VERIFIED"]);
}

#[test]
fn revoking_or_rotating_a_key_closes_only_its_streams() {
    let gateway = on_a_machine();
    let mut tenant = gateway.tenant();
    let owner = tenant.api_key.clone();
    let session = tenant.create(&request_for(&["given_name"])).id;
    let mut make = || {
        let request = Request::post("/v1/api-keys").bearer(&owner);
        let made = tenant.http.send(&request.json(&json!({ "scopes": ["session:read"] })));
        let made = made.expect_status(201).json();
        let text = |member: &str| made[member].as_str().unwrap().to_owned();
        let stream = Stream::open(gateway.server.address, &session, &text("api_key"));
        (text("id"), stream)
    };
    let [mut revoked, mut rotated, mut other] = [make(), make(), make()];
    for (_, stream) in [&mut revoked, &mut rotated, &mut other] {
        assert_eq!(stream.statuses(2), ["CREATED", "PENDING"]);
    }
    gateway.installation.machine().freeze();
    let mut close = |request: Request, mut stream: Stream| {
        let status = tenant.http.send(&request.bearer(&owner)).status;
        pass(&gateway, Duration::from_secs(1));
        assert_eq!(stream.next(), Got::Close(Some(4401)), "{status}");
    };
    close(Request::delete(format!("/v1/api-keys/{}", revoked.0)), revoked.1);
    close(Request::post(format!("/v1/api-keys/{}/rotate", rotated.0)), rotated.1);
    other.1.send(&frame(0x89, b"still there"));
    assert_eq!(other.1.next(), Got::Pong(b"still there".into()));
}

#[test]
fn a_key_that_expires_closes_its_stream() {
    let gateway = on_a_machine();
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let session = tenant.create(&request_for(&["given_name"])).id;
    let soon = gateway.installation.machine().now_ms() + 10_000;
    let soon = idgate_core::UnixMillis(soon).to_string();
    let wish = json!({ "scopes": ["session:read"], "expires_at": soon });
    let request = Request::post("/v1/api-keys").bearer(&tenant.api_key).json(&wish);
    let made = tenant.http.send(&request).expect_status(201).json();
    let key = made["api_key"].as_str().unwrap();
    let mut stream = Stream::open(gateway.server.address, &session, key);
    // Its first poll.
    pass(&gateway, Duration::from_millis(10));
    assert_eq!(stream.statuses(2), ["CREATED", "PENDING"]);
    pass(&gateway, Duration::from_millis(9900));
    stream.send(&frame(0x89, b"still open"));
    assert_eq!(stream.next(), Got::Pong(b"still open".into()));
    pass(&gateway, Duration::from_secs(1));
    assert_eq!(stream.close(), Some(4401));
}

#[test]
fn disconnected_readers_free_their_places() {
    let gateway = Gateway::start();
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let request = upgrade(&created.id)
        .header("Sec-WebSocket-Protocol", "svc-id-v1")
        .bearer(&gateway.client.api_key);
    for _ in 0..20 {
        // Before the answer, and immediately after it.
        let mut connection = connect(gateway.server.address).unwrap();
        connection.write_all(&request.encode(gateway.server.address)).unwrap();
        drop(connection);
        drop(open(&gateway, &created.id));
    }
    let mut readers = Vec::new();
    eventually("five places are free", || {
        let mut reader = open(&gateway, &created.id);
        let has_place = matches!(reader.next(), Got::Status(_));
        if has_place {
            readers.push(reader);
        }
        readers.len() == 5
    });
}

#[test]
fn a_stopping_server_closes_with_1001_and_the_next_one_resumes() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut stream = open(&gateway, &created.id);
    assert_eq!(stream.statuses(2), ["CREATED", "PENDING"]);
    // A reader that never sends a close frame delays the drain only for a moment.
    let mut silent = open(&gateway, &created.id);
    assert_eq!(silent.statuses(2), ["CREATED", "PENDING"]);
    let Gateway { server, client, installation } = gateway;
    server.terminate();
    assert_eq!(stream.close(), Some(1001));
    let (status, _) = server.wait();
    assert!(status.success());
    drop(silent);
    let server = installation.serve();
    let mut stream = Stream::open_after(server.address, &created.id, &client.api_key, 2);
    let mut tenant = Tenant { http: Http::new(server.address), api_key: client.api_key };
    tenant.delete(&created.id).expect_status(204);
    assert_eq!(stream.next(), Got::Close(Some(4404)));
}

#[test]
fn the_sixth_stream_of_a_session_is_1013_until_one_closes() {
    let gateway = Gateway::start();
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let mut readers: Vec<_> = (0..5).map(|_| open(&gateway, &created.id)).collect();
    for reader in &mut readers {
        assert_eq!(reader.statuses(2), ["CREATED", "PENDING"]);
    }
    assert_eq!(open(&gateway, &created.id).close(), Some(1013));
    let mut leaving = readers.pop().unwrap();
    leaving.send(&frame(0x88, &1000u16.to_be_bytes()));
    assert_eq!(leaving.close(), Some(1000));
    assert_eq!(open(&gateway, &created.id).statuses(2), ["CREATED", "PENDING"]);
}
