//! The rules for every request and answer (decisions 17) with the real program: the rules that
//! `idgate-server/src/http/tests` tests, the timeouts of the manual, and an orderly shutdown.

use std::collections::BTreeSet;
use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::http::{Request, Response, connect, read_response, read_to_close};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, Tenant, form, request_for, sample_wallet};

const MIB: usize = 1024 * 1024;

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
    // One more byte each second does not keep a connection open any longer. Other requests are
    // served in the meantime.
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
fn sighup_without_tls_changes_nothing() {
    let gateway = Gateway::start();
    gateway.server.signal("HUP");
    eventually("the signal is noted", || gateway.installation.log().contains("SIGHUP"));
    gateway.http().send(&Request::get("/healthz")).expect_status(200);
}

#[test]
fn sigterm_finishes_requests_in_progress_and_exits_with_0() {
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
