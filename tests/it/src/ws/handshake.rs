//! Which upgrade requests become a stream, and which are rejected with which status (decisions 12
//! and 17).

use std::io::Write;

use super::*;
use crate::contract;
use crate::http::Response;
use crate::server::Installation;
use crate::tenant::{Gateway, request_for};

const PROTOCOL: &str = "Sec-WebSocket-Protocol";

/// The answer to an upgrade, on its own connection.
fn answer(gateway: &Gateway, request: &Request) -> Response {
    let mut connection = connect(gateway.server.address).unwrap();
    connection.write_all(&request.encode(gateway.server.address)).unwrap();
    let answer = read_response(&mut BufReader::new(connection), "GET").unwrap();
    contract::check("GET", &request.target, &answer);
    answer
}

#[test]
fn a_key_comes_as_a_subprotocol_or_as_bearer_and_only_svc_id_v1_is_echoed() {
    let gateway = Gateway::start();
    let key = &gateway.client.api_key;
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let upgrade = || upgrade(&session);
    for (what, request) in [
        ("one list", upgrade().header(PROTOCOL, format!("svc-id-v1, {key}"))),
        ("no space", upgrade().header(PROTOCOL, format!("svc-id-v1,{key}"))),
        ("key first", upgrade().header(PROTOCOL, format!("{key} ,  svc-id-v1"))),
        ("two headers", upgrade().header(PROTOCOL, "svc-id-v1").header(PROTOCOL, key)),
        ("empty elements", upgrade().header(PROTOCOL, format!(",svc-id-v1,,{key},"))),
        ("with other protocols", upgrade().header(PROTOCOL, format!("chat, svc-id-v1, v2, {key}"))),
        ("bearer", upgrade().header(PROTOCOL, "svc-id-v1").bearer(key)),
        (
            "an extension",
            upgrade()
                .header(PROTOCOL, "svc-id-v1")
                .bearer(key)
                .header("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"),
        ),
    ] {
        let answer = answer(&gateway, &request).expect_status(101);
        assert_eq!(answer.header(PROTOCOL), Some("svc-id-v1"), "{what}");
        let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert_eq!(answer.header("sec-websocket-accept"), Some(accept), "{what}");
        assert_eq!(answer.header("upgrade"), Some("websocket"));
        assert_eq!(answer.header("connection"), Some("Upgrade"));
        assert_eq!(answer.header("sec-websocket-extensions"), None);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(!format!("{answer:?}").contains(&key[8..]), "{what}: the key comes back");
    }
}

#[test]
fn an_upgrade_without_svc_id_v1_is_400() {
    let gateway = Gateway::start();
    let key = gateway.client.api_key.clone();
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let path = format!("/v1/sessions/{session}/ws");
    let names = ["Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key", PROTOCOL];
    let good = ["websocket", "Upgrade", "13", "dGhlIHNhbXBsZSBub25jZQ==", "svc-id-v1"];
    let with = |changed: usize, value: Option<&str>| {
        let headers = names.iter().zip(good).enumerate();
        headers.fold(Request::get(&path).bearer(&key), |request, (at, (name, good))| {
            match (at == changed, value) {
                (false, _) => request.header(name, good),
                (true, Some(value)) => request.header(name, value),
                (true, None) => request,
            }
        })
    };
    answer(&gateway, &with(9, None)).expect_status(101);
    answer(&gateway, &with(0, Some("WebSocket"))).expect_status(101);
    for (changed, value) in [
        (0, None),
        (0, Some("h2c")),
        (1, None),
        (1, Some("close")),
        (2, None),
        (2, Some("8")),
        (2, Some("13, 8")),
        (3, None),
        (3, Some("")),
        (3, Some("dGhlIHNhbXBsZSBub25jZQ")),
        (3, Some("dGhlIHNhbXBsZSBub25j")),
        (3, Some("dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==")),
        (4, None),
        (4, Some("")),
        (4, Some("svc-id-v2")),
        (4, Some("SVC-ID-V1")),
        (4, Some("svc-id-v1, svc-id-v1")),
    ] {
        let request = with(changed, value);
        let refused = answer(&gateway, &request).expect_error(400, "invalid_request");
        assert_eq!(refused.header("sec-websocket-version"), Some("13"), "{request:?}");
    }
    let with_body = upgrade(&session).header(PROTOCOL, "svc-id-v1").bearer(&key).bytes("x");
    answer(&gateway, &with_body).expect_error(400, "invalid_request");
    // A plain GET explains what the path is for, with or without a key.
    answer(&gateway, &Request::get(&path)).expect_error(400, "invalid_request");
    for method in ["HEAD", "POST", "DELETE"] {
        let mut http = gateway.http();
        let refused = http.send(&Request::new(method, &path).bearer(&key));
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")), "{method}");
    }
}

#[test]
fn a_key_that_is_missing_malformed_twice_or_in_both_places_is_401() {
    let gateway = Gateway::start();
    let key = &gateway.client.api_key;
    let revoked = gateway.installation.create_client("revoked", true);
    assert_eq!(gateway.installation.run(&["client", "revoke", &revoked.client_id]).code, 0);
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let offering = |protocols: String| upgrade(&session).header(PROTOCOL, protocols);
    for request in [
        offering("svc-id-v1".into()),
        offering("svc-id-v1".into()).header("Origin", "https://evil.example"),
        offering("svc-id-v1, sk_".into()),
        offering(format!("svc-id-v1, {key}x")),
        offering(format!("svc-id-v1, {}", &key[1..])),
        offering(format!("svc-id-v1, {}", revoked.api_key)),
        offering(format!("svc-id-v1, {key}, {key}")),
        offering(format!("svc-id-v1, {key}, sk_other")),
        offering(format!("svc-id-v1, {key}")).header(PROTOCOL, key),
        offering(format!("svc-id-v1, {key}")).bearer(key),
        offering(format!("svc-id-v1, {key}")).header("Authorization", "Basic x"),
        offering("svc-id-v1".into()).bearer(key).bearer(key),
        offering("svc-id-v1".into()).header("Authorization", key),
        offering("svc-id-v1".into()).header("Cookie", format!("api_key={key}")),
        Request::get(format!("/v1/sessions/{session}/ws?token={key}&api_key={key}"))
            .header("Upgrade", "websocket")
            .header("Connection", "Upgrade")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header(PROTOCOL, "svc-id-v1"),
    ] {
        let refused = answer(&gateway, &request).expect_error(401, "invalid_api_key");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{request:?}");
    }
}

#[test]
fn scope_after_and_session_are_checked_after_the_key() {
    let installation = Installation::new();
    let made = ["client", "create", "c", "--test", "--scopes", "session:create", "--json"];
    let creator = installation.run_json(&made)["api_key"].as_str().unwrap().to_owned();
    let other = installation.create_client("other", false);
    let gateway = Gateway::start_on(installation);
    let key = gateway.client.api_key.clone();
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let open = |target: &str, key: &str| {
        let request = Request::get(format!("/v1/sessions/{target}"))
            .header("Upgrade", "websocket")
            .header("Connection", "Upgrade")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header(PROTOCOL, format!("svc-id-v1, {key}"));
        answer(&gateway, &request)
    };
    for target in [format!("{session}/ws?after=x"), "ses_x/ws".into()] {
        open(&target, &creator).expect_error(403, "insufficient_scope");
    }
    for after in ["x", "", "-1", "1.5", "18446744073709551616", "1&after=1"] {
        open(&format!("ses_x/ws?after={after}"), &key).expect_error(400, "invalid_request");
    }
    open("ses_0000000000000000000000/ws", &key).expect_error(404, "not_found");
    open(&format!("{session}/ws"), &other.api_key).expect_error(404, "not_found");
    for target in [format!("{session}/ws/"), format!("{session}/WS"), "/ws".into()] {
        open(&target, &key).expect_error(404, "not_found");
    }
    open(&format!("{session}/ws?after=0&other=1&other=2"), &key).expect_status(101);
}

#[test]
fn frames_sent_with_the_request_are_not_lost() {
    let gateway = Gateway::start();
    let key = &gateway.client.api_key;
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let request = upgrade(&session).header(PROTOCOL, "svc-id-v1").bearer(key);
    let bytes = [request.encode(gateway.server.address), frame(0x89, b"early")].concat();
    let mut connection = BufReader::new(connect(gateway.server.address).unwrap());
    connection.get_mut().write_all(&bytes).unwrap();
    read_response(&mut connection, "GET").unwrap().expect_status(101);
    let mut stream = Stream(connection);
    let got = [stream.next(), stream.next(), stream.next()];
    assert!(got.contains(&Got::Pong(b"early".into())), "{got:?}");
}
