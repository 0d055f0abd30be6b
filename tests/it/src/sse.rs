//! Live events (Server-Sent Events) of a session, over raw sockets (decisions 26).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Request, Response, connect};
use crate::server::{Installation, eventually};
use crate::tenant::{
    Gateway, Tenant, form, members, request_for, sample_wallet, timestamp, wallet_with,
};
use crate::ws::Stream;

/// An event as a client library returns it.
#[derive(Clone, Debug, PartialEq)]
enum Got {
    Status(u64, Value),
    End(Value),
}

/// The client's side.
struct Events {
    from: BufReader<TcpStream>,
    head: String,
    /// Received and not yet parsed.
    text: String,
    over: bool,
}

impl Events {
    #[track_caller]
    fn open(gateway: &Gateway, session: &str) -> Self {
        Self::with(gateway.server.address, session, &gateway.client.api_key, "")
    }

    #[track_caller]
    fn after(gateway: &Gateway, session: &str, after: u64) -> Self {
        let header = format!("Last-Event-ID: {after}\r\n");
        Self::with(gateway.server.address, session, &gateway.client.api_key, &header)
    }

    #[track_caller]
    fn with(address: SocketAddr, session: &str, key: &str, headers: &str) -> Self {
        let mut stream = connect(address).unwrap();
        let request = format!(
            "GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer {key}\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut from = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(from.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Self { from, head, text: String::new(), over: false }
    }

    /// The next event. `None`: the answer and its connection ended.
    #[track_caller]
    fn next(&mut self) -> Option<Got> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(got) = parse(&event) {
                    return Some(got);
                }
                continue;
            }
            if !self.chunk() {
                assert!(self.text.is_empty(), "cut off: {:?}", self.text);
                return None;
            }
        }
    }

    /// Reads one chunk (RFC 9112 7.1). `false`: it was the last.
    fn chunk(&mut self) -> bool {
        if self.over {
            return false;
        }
        let mut size = String::new();
        self.from.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.from.read_exact(&mut bytes).unwrap();
        self.text.push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        if size == 0 {
            assert_eq!(self.from.read(&mut [0]).unwrap(), 0, "the connection ends");
            self.over = true;
        }
        size > 0
    }

    #[track_caller]
    fn statuses(&mut self, count: usize) -> Vec<String> {
        let status = |got| match got {
            Some(Got::Status(_, message)) => message["status"].as_str().unwrap().to_owned(),
            other => panic!("no status: {other:?}"),
        };
        (0..count).map(|_| status(self.next())).collect()
    }

    #[track_caller]
    fn ends(mut self) {
        let end = self.next();
        assert!(matches!(end, Some(Got::End(_))), "{end:?}");
        assert_eq!(self.next(), None);
    }
}

/// `None`: a comment.
fn parse(event: &str) -> Option<Got> {
    let fields: Vec<(&str, &str)> = event.lines().filter_map(|it| it.split_once(": ")).collect();
    let data = |fields: &[(&str, &str)]| serde_json::from_str(fields[1].1).unwrap();
    match fields[..] {
        [("id", id), ("data", _)] => Some(Got::Status(id.parse().unwrap(), data(&fields))),
        [("event", "end"), ("data", _)] => Some(Got::End(data(&fields))),
        [] if event.starts_with(':') => None,
        _ => panic!("{event:?}"),
    }
}

fn refused(tenant: &mut Tenant, session: &str, query: &str, header: &str) -> Response {
    let mut request = Request::get(format!("/v1/sessions/{session}/events{query}"));
    if !header.is_empty() {
        request = request.header("Last-Event-ID", header);
    }
    let key = tenant.api_key.clone();
    tenant.http.send(&request.bearer(&key))
}

#[test]
fn live_events_equal_the_websocket_messages_plus_an_end() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = wallet_with(&[("given_name", "Sentinel-events-K8")]);
    let created = tenant.create(&request_for(&["given_name"]));
    let mut events = Events::open(&gateway, &created.id);
    let head = events.head.to_lowercase();
    assert!(head.contains("\r\ncontent-type: text/event-stream\r\n"), "{head}");
    assert!(head.contains("\r\ncache-control: no-store\r\n"), "{head}");
    let mut got = vec![events.next().unwrap(), events.next().unwrap()];
    tenant.post_answer(&created.id, &form(&wallet, &created)).expect_status(200);
    got.push(events.next().unwrap());
    assert_eq!(events.next(), Some(Got::End(json!({ "type": "end", "session_id": created.id }))));
    assert_eq!(events.next(), None);
    let mut socket = Stream::open(gateway.server.address, &created.id, &gateway.client.api_key);
    for (got, seq) in got.into_iter().zip(1..) {
        let Got::Status(id, message) = got else { panic!("{got:?}") };
        assert_eq!((id, &message["seq"]), (seq, &json!(seq)));
        timestamp(&message["occurred_at"]);
        assert_eq!(message, socket.message());
        let names = ["livemode", "occurred_at", "seq", "session_id", "status", "type"];
        assert_eq!(members(&message), names, "and no claims");
    }
}

#[test]
fn an_event_of_a_failed_session_has_its_reason() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let stale = sample_wallet().answer_uri(&created.uri, 0).unwrap();
    tenant.post_answer(&created.id, &stale.form_body()).expect_status(400);
    let mut events = Events::after(&gateway, &created.id, 2);
    let Some(Got::Status(3, message)) = events.next() else { panic!() };
    assert_eq!(message["reason"], tenant.read(&created.id)["reason"]);
    events.ends();
}

#[test]
fn last_event_id_resumes_and_an_unknown_one_is_400() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let settled = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
    let all = ["CREATED", "PENDING", "VERIFIED"];
    for after in 0..=3 {
        let mut events = Events::after(&gateway, &settled, after);
        let rest = &all[usize::try_from(after).unwrap()..];
        assert_eq!(events.statuses(rest.len()), rest);
        events.ends();
    }
    // The query is for clients that cannot send the header, which takes precedence.
    let answer = refused(&mut tenant, &settled, "?after=2", "");
    let text = String::from_utf8(answer.expect_status(200).body).unwrap();
    assert!(text.starts_with("id: 3\n") && text.ends_with("\n\n"), "{text}");
    let answer = refused(&mut tenant, &settled, "?after=2", "3").expect_status(200);
    assert!(answer.body.starts_with(b"event: end\n"));
    for (query, header) in [
        ("", "4"),
        ("", "18446744073709551615"),
        ("", "18446744073709551616"),
        ("", "x"),
        ("", "-1"),
        ("?after=4", ""),
        ("?after=", ""),
        ("?after=1&after=1", ""),
    ] {
        refused(&mut tenant, &settled, query, header).expect_error(400, "invalid_request");
    }
}

#[test]
fn an_invalid_or_repeated_after_is_400_also_with_last_event_id() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let id = tenant.create(&request_for(&["given_name"])).id;
    for query in ["?after=1&after=2", "?after=1&after=1", "?after=x", "?after="] {
        refused(&mut tenant, &id, query, "2").expect_error(400, "invalid_request");
    }
}

#[test]
fn live_events_need_the_same_rights_as_reading_the_session() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let id = tenant.create(&request_for(&["given_name"])).id;
    let live = gateway.tenant_of(&gateway.installation.create_client("live", false));
    let other = gateway.tenant_of(&gateway.installation.create_client("other", true));
    for mut stranger in [live, other] {
        refused(&mut stranger, &id, "", "").expect_error(404, "not_found");
    }
    refused(&mut tenant, "ses_0000000000000000000000", "", "").expect_error(404, "not_found");
    let bare = Request::get(format!("/v1/sessions/{id}/events"));
    tenant.http.send(&bare).expect_error(401, "invalid_api_key");
}

#[test]
fn a_stream_ends_without_end_when_session_or_key_is_gone() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut events = Events::open(&gateway, &created.id);
    assert_eq!(events.statuses(2), ["CREATED", "PENDING"]);
    tenant.delete(&created.id).expect_status(204);
    assert_eq!(events.next(), None);
    refused(&mut tenant, &created.id, "", "2").expect_error(404, "not_found");
    let created = tenant.create(&request_for(&["given_name"]));
    let mut events = Events::open(&gateway, &created.id);
    assert_eq!(events.statuses(2), ["CREATED", "PENDING"]);
    machine.freeze();
    gateway.installation.run_json(&["client", "revoke", &gateway.client.client_id, "--json"]);
    gateway.server.rest();
    machine.jump(Duration::from_secs(1));
    assert_eq!(events.next(), None);
    refused(&mut tenant, &created.id, "", "2").expect_error(401, "invalid_api_key");
}

#[test]
fn a_session_has_at_most_five_streams_of_both_kinds() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let id = tenant.create(&request_for(&["given_name"])).id;
    let socket = Stream::open(gateway.server.address, &id, &gateway.client.api_key);
    let events: Vec<_> = (0..4).map(|_| Events::open(&gateway, &id)).collect();
    let full = refused(&mut tenant, &id, "", "").expect_error(429, "rate_limited");
    assert_eq!(full.header("retry-after"), Some("1"));
    let another = tenant.create(&request_for(&["given_name"])).id;
    drop(Events::open(&gateway, &another));
    drop(socket);
    eventually("its place is free", || {
        let mut stream = connect(gateway.server.address).unwrap();
        let request = Request::get(format!("/v1/sessions/{id}/events"));
        let request = request.bearer(&gateway.client.api_key).encode(gateway.server.address);
        stream.write_all(&request).unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status.contains(" 200 ")
    });
    drop(events);
}

#[test]
fn opening_a_stream_counts_as_a_read() {
    let installation = Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::start_on(installation);
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let id = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
    let first = refused(&mut tenant, &id, "", "").expect_status(200);
    assert_eq!(first.header("ratelimit-policy"), Some("\"read\";q=50;w=2"));
    for _ in 1..50 {
        refused(&mut tenant, &id, "", "").expect_status(200);
    }
    refused(&mut tenant, &id, "", "").expect_error(429, "rate_limited");
}

#[test]
fn a_stopping_gateway_ends_its_streams_immediately() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let id = gateway.tenant().create(&request_for(&["given_name"])).id;
    let mut events = Events::open(&gateway, &id);
    assert_eq!(events.statuses(2), ["CREATED", "PENDING"]);
    // No time passes until the stream has ended.
    let machine = gateway.installation.machine();
    machine.freeze();
    gateway.server.terminate();
    assert_eq!(events.next(), None);
    machine.thaw();
    let (status, _) = gateway.server.wait();
    assert!(status.success());
}

#[test]
fn two_readers_get_the_same_events() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for _ in 0..20 {
        let created = tenant.create(&request_for(&["given_name"]));
        let body = form(&sample_wallet(), &created);
        thread::scope(|scope| {
            let read = |after| {
                let mut events = Events::after(&gateway, &created.id, after);
                let rest = events.statuses(3 - usize::try_from(after).unwrap());
                events.ends();
                rest
            };
            let readers = [scope.spawn(move || read(0)), scope.spawn(move || read(1))];
            gateway.tenant().post_answer(&created.id, &body).expect_status(200);
            let [all, rest] = readers.map(|reader| reader.join().unwrap());
            assert_eq!(all, ["CREATED", "PENDING", "VERIFIED"]);
            assert_eq!(rest, all[1..]);
        });
    }
}
