//! What holds for every request and answer (decisions 17): paths, methods, order of checks, headers,
//! sizes, times, framing, and the end of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::endpoints::table::table;
use crate::http::{Request, Response, connect, exchange, read_response, read_to_close};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, Tenant, form, request_for, sample_wallet};

const MIB: usize = 1024 * 1024;
/// An id of the right form that no session has.
const UNKNOWN: &str = "ses_0000000000000000000000";

#[test]
fn another_method_is_405_and_told_which_there_are() {
    let installation = Installation::new().with("IDGATE_PROFILES", "draft,1.0");
    let installation = installation.with("IDGATE_PAGE", "on");
    let gateway = Gateway::start_on(installation.with("IDGATE_DC_API", "unsigned"));
    let mut http = gateway.http();
    let mut methods_of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for row in table() {
        methods_of.entry(row.path.replace("{id}", UNKNOWN)).or_default().insert(row.method);
    }
    for (path, methods) in methods_of {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if methods.contains(&method) {
                continue;
            }
            let response = http.send(&Request::new(method, &*path));
            let response = response.expect_error(405, "method_not_allowed");
            let allow = response.header("allow").unwrap_or_default().to_owned();
            let mut allowed: BTreeSet<&str> = allow.split(',').map(str::trim).collect();
            allowed.remove("HEAD");
            assert_eq!(allowed, methods, "{method} {path}");
        }
    }
}

#[test]
fn a_path_in_another_spelling_is_404() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let id = tenant.create(&request_for(&["given_name"])).id;
    let encoded = id.replacen("ses_", "ses%5F", 1);
    for path in [
        "/".to_owned(),
        "/v1".into(),
        "/V1/sessions".into(),
        "//v1/sessions".into(),
        "/v1//sessions".into(),
        "/v1/./sessions".into(),
        "/v1/sessions/".into(),
        "/healthz/".into(),
        "/v1/sess%69ons".into(),
        format!("/v1/sessions/{id}/"),
        format!("/v1/sessions/{encoded}"),
        format!("/v1/sessions/{encoded}/open"),
        format!("/v1/sessions/{id}%2Fopen"),
        format!("/v1/sessions/{id}%00"),
        format!("/v1/sessions/{id}/open/x"),
        format!("/v1/sessions/x/../{id}"),
        format!("/v1/oid4vp/response/{encoded}"),
        format!("/v1/oid4vp/response/{id}/"),
    ] {
        for method in ["GET", "POST"] {
            let request = Request::new(method, &*path).bearer(&tenant.api_key);
            let response = tenant.http.send(&request);
            assert_eq!((response.status, response.error().as_str()), (404, "not_found"), "{path}");
        }
    }
    tenant.get(&id.to_uppercase()).expect_error(404, "not_found");
    tenant.get(&id[..id.len() - 1]).expect_error(404, "not_found");
    tenant.get(&format!("{id}?verbose=1&verbose=2")).expect_status(200);
}

#[test]
fn every_answer_has_the_common_headers_and_no_server() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let mut request_ids = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for response in one_answer_of_each_kind(&gateway, &mut tenant) {
        let status = response.status;
        statuses.insert(status);
        assert_eq!(response.header("cache-control"), Some("no-store"), "{status}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{status}");
        let request_id = response.header("x-request-id").unwrap_or_default();
        assert!(!request_id.is_empty() && request_ids.insert(request_id.to_owned()), "{status}");
        for absent in ["server", "x-powered-by", "access-control-allow-origin", "set-cookie"] {
            assert_eq!(response.header(absent), None, "{status}");
        }
        let json = (!response.body.is_empty()).then_some("application/json");
        let health = response.header("content-type").is_some_and(|is| is.starts_with("text/plain"));
        assert!(health || response.header("content-type") == json, "{status}");
    }
    assert_eq!(statuses, [200, 201, 204, 302, 400, 401, 404, 405, 409, 413].into());
}

fn one_answer_of_each_kind(gateway: &Gateway, tenant: &mut Tenant) -> Vec<Response> {
    let wallet = sample_wallet();
    let created = tenant.create(&request_for(&["given_name"]));
    let (session, answer) = (format!("/v1/sessions/{}", created.id), form(&wallet, &created));
    let response = format!("/v1/oid4vp/response/{}", created.id);
    let open = tenant.create(&request_for(&["given_name"]));
    let open = format!("/v1/oid4vp/response/{}", open.id);
    let key = &tenant.api_key;
    let requests = [
        Request::post("/v1/sessions").bearer(key).json(&request_for(&["given_name"])),
        Request::post("/v1/sessions").bearer(key).json(&request_for(&[])),
        Request::get(format!("{session}/open")),
        Request::get(&*session).bearer(key),
        Request::get(&*session).bearer(key).header("Origin", "https://evil.example"),
        Request::get(&*session),
        Request::get("/nothing"),
        Request::new("PUT", &*session),
        Request::post(&*response).header("Content-Type", "text/plain").bytes("x"),
        Request::post(&*response).answer(&answer),
        Request::post(&*response).answer(&answer),
        Request::post(&*open).bytes(vec![b'x'; MIB + 1]),
        Request::delete(&*session).bearer(key),
        Request::get("/healthz"),
        Request::get("/readyz"),
    ];
    let mut http = gateway.http();
    requests.iter().map(|request| http.send(request)).collect()
}

#[test]
fn head_is_get_without_a_body_and_without_an_effect() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let session = format!("/v1/sessions/{}", created.id);
    for path in [session.clone(), format!("{session}/open"), "/healthz".into(), UNKNOWN.into()] {
        let get = tenant.http.send(&Request::get(&*path).bearer(&tenant.api_key));
        let head = tenant.http.send(&Request::new("HEAD", &*path).bearer(&tenant.api_key));
        assert_eq!(head.status, get.status, "{path}");
        for same in ["content-type", "location", "cache-control"] {
            assert_eq!(head.header(same), get.header(same), "{path} {same}");
        }
    }
    assert_eq!(tenant.http.connects(), 1, "an answer to HEAD had a body");
}

#[test]
fn a_wallet_body_over_1_mib_is_413_before_it_is_read_to_the_end() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let path = format!("/v1/oid4vp/response/{}", created.id);
    // Declared: nothing of it is sent.
    let declared = format!("Content-Length: {}\r\n\r\n", MIB + 1);
    expect_413(&gateway, &path, declared.into_bytes());
    // Not declared: no end is sent.
    let chunk = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", 2 * MIB);
    expect_413(&gateway, &path, [chunk.as_bytes(), &vec![b'x'; MIB + 4096]].concat());
    // Exactly 1 MiB is read and is not a form.
    let whole = Request::post(&*path).header("Content-Type", "application/json");
    tenant.http.send(&whole.bytes(vec![b'x'; MIB])).expect_error(400, "invalid_response");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    // Elsewhere it is 400.
    let large = Request::post("/v1/sessions").bearer(&tenant.api_key);
    let large = large.header("Content-Type", "application/json").bytes(vec![b' '; 64 * 1024 + 1]);
    tenant.http.send(&large).expect_error(400, "invalid_request");
}

fn expect_413(gateway: &Gateway, path: &str, rest: Vec<u8>) {
    let mut stream = connect(gateway.server.address).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n");
    stream.write_all(&[head.as_bytes(), &rest].concat()).unwrap();
    let response = read_response(&mut BufReader::new(&stream), "POST").unwrap();
    response.expect_error(413, "payload_too_large");
}

#[test]
fn too_many_or_too_long_headers_are_refused() {
    let gateway = Gateway::start();
    let mut http = gateway.http();
    let many =
        |count| (0..count).fold(Request::get("/healthz"), |r, n| r.header(&format!("X-{n}"), "1"));
    http.send(&many(60)).expect_status(200);
    let long = |length| Request::get("/healthz").header("X-Long", "x".repeat(length));
    http.send(&long(16 * 1024)).expect_status(200);
    for refused in [many(64), many(1000), long(33 * 1024), long(MIB)] {
        let mut http = gateway.http();
        // The server may close before it has read everything.
        if let Ok(response) = http.try_send(&refused) {
            response.expect_error(431, "invalid_request");
        }
    }
}

#[test]
fn a_connection_carries_many_requests() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for _ in 0..20 {
        tenant.create(&request_for(&["given_name"]));
        tenant.get(UNKNOWN).expect_status(404);
        tenant.http.send(&Request::get("/v1/sessions/x")).expect_status(401);
    }
    assert_eq!(tenant.http.connects(), 1);
    let pipelined = "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n".repeat(5);
    let answers = exchange(gateway.server.address, pipelined.as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 5, "{answers}");
}

#[test]
fn a_request_that_two_parsers_could_frame_differently_is_its_connections_last() {
    let gateway = Gateway::start();
    for (framing, body) in [
        ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", "aaaaa"),
        ("Content-Length: 5, 6\r\n", "aaaaa"),
        ("Content-Length: +5\r\n", "aaaaa"),
        ("Content-Length: 0x5\r\n", "aaaaa"),
        ("Content-Length: -1\r\n", ""),
        ("Content-Length: 18446744073709551621\r\n", "aaaaa"),
        ("Content-Length : 5\r\n", "aaaaa"),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: identity\r\n", ""),
        ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1;\r\nx\r\n0x0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n"),
        ("X: 1\r\n Content-Length: 5\r\n", "aaaaa"),
        ("Content-Length: 5\r\nX: \u{0}\r\n", "aaaaa"),
    ] {
        let smuggled = "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n";
        let head =
            format!("POST /v1/oid4vp/response/{UNKNOWN} HTTP/1.1\r\nHost: g\r\n{framing}\r\n");
        let answers =
            exchange(gateway.server.address, format!("{head}{body}{smuggled}").as_bytes());
        assert!(!answers.contains("HTTP/1.1 200"), "{framing:?}: {answers}");
        let heads = answers.lines().filter(|line| line.starts_with("HTTP/1.1 ")).count();
        assert!(heads <= 1, "{framing:?}: {answers}");
    }
    // The server still serves.
    gateway.http().send(&Request::get("/healthz")).expect_status(200);
}

#[test]
fn a_peer_that_does_not_finish_is_cut_off_after_10_s() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let id = gateway.tenant().create(&request_for(&["given_name"])).id;
    let post = format!("POST /v1/oid4vp/response/{id} HTTP/1.1\r\nHost: g\r\n");
    let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n";
    let begin = |start: String| {
        let mut stream = connect(gateway.server.address).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        stream
    };
    let mut peers = [
        ("header", begin("GET /healthz HTTP/1.1\r\nHost: g\r\n".into()), "X: y\r\n"),
        ("body", begin(format!("{post}{form}state=")), "x"),
    ];
    // A little more each second keeps no connection open for longer. Others are served in the meantime.
    for second in 1..10 {
        for (what, stream, drip) in &mut peers {
            stream.write_all(drip.as_bytes()).unwrap_or_else(|_| panic!("{what}: {second} s"));
        }
        gateway.server.rest();
        machine.jump(Duration::from_secs(1));
        gateway.http().send(&Request::get("/healthz")).expect_status(200);
        gateway.server.rest();
        for (what, stream, _) in &mut peers {
            stream.set_nonblocking(true).unwrap();
            let open = stream.peek(&mut [0]).unwrap_err();
            assert_eq!(open.kind(), ErrorKind::WouldBlock, "{what}: {second} s");
            stream.set_nonblocking(false).unwrap();
        }
    }
    machine.jump(Duration::from_secs(2));
    for (what, stream, _) in &mut peers {
        let answer = read_to_close(stream);
        assert!(!answer.contains("HTTP/1.1 200"), "{what}: {answer}");
    }
    gateway.http().send(&Request::get("/healthz")).expect_status(200);
}

#[test]
fn a_repeated_parameter_is_refused_and_an_unknown_one_ignored() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let open = |query: &str| Request::get(format!("/v1/sessions/{}/open?{query}", created.id));
    tenant.http.send(&open("scheme=haip&scheme=haip")).expect_error(400, "invalid_request");
    tenant.http.send(&open("x=1&x=2&scheme=haip")).expect_status(302);
}

#[test]
fn health_and_readiness_need_no_key() {
    let gateway = Gateway::start();
    let mut http = gateway.http();
    http.send(&Request::get("/healthz")).expect_status(200);
    http.send(&Request::get("/readyz")).expect_status(200);
}

#[test]
fn sighup_without_tls_changes_nothing() {
    let gateway = Gateway::start();
    gateway.server.signal("HUP");
    eventually("the signal is noted", || gateway.installation.log().contains("SIGHUP"));
    gateway.http().send(&Request::get("/healthz")).expect_status(200);
}

#[test]
fn sigterm_finishes_what_is_under_way_and_exits_with_0() {
    let Gateway { server, client, installation: _directory } = Gateway::start();
    let address = server.address;
    let port = server.base_url.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    assert_eq!(port, Some(address.port()));
    assert_ne!(port, Some(0));
    let body = request_for(&["given_name"]).to_string();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        client.api_key,
        body.len()
    );
    let (first, second) = body.split_at(10);
    let mut under_way = connect(address).unwrap();
    under_way.write_all(format!("{head}{first}").as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(200));
    server.terminate();
    eventually("no new connections", || TcpStream::connect(address).is_err());
    under_way.write_all(second.as_bytes()).unwrap();
    let created = read_response(&mut BufReader::new(&under_way), "POST").unwrap();
    let uri = created.expect_status(201).json()["qr_code_url"].as_str().unwrap().to_owned();
    assert!(uri.contains(&format!("127.0.0.1%3A{}", address.port())), "{uri}");
    let (status, rest) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(rest, "", "more than one line on stdout");
}
