//! Connections: their heads, their number, their end.

use std::io;

use idgate::own_fault::Shortage;

use super::*;
use crate::http::listener::{LAST_REQUESTS, cannot_accept};

fn caps(connections: usize, connections_per_peer: usize) -> HttpLimits {
    HttpLimits { connections, connections_per_peer, ..HttpLimits::default() }
}

/// Whether a request on `stream` is answered.
async fn answers(stream: &mut TcpStream) -> bool {
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n").await;
    let mut first = [0u8; 12];
    stream.read_exact(&mut first).await.is_ok() && first == *b"HTTP/1.1 200"
}

#[tokio::test]
async fn a_slow_head_and_an_idle_connection_are_cut_off() {
    let header_timeout = Duration::from_millis(200);
    let edge = Edge::with(HttpLimits { header_timeout, ..HttpLimits::default() }, &[]).await;
    let mut silent = edge.connect().await;
    let mut slow = edge.connect().await;
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost").await.unwrap();
    let mut idle = edge.connect().await;
    // On a machine slower than the limit, the connection may end before its request.
    let asking = async {
        while !answers(&mut idle).await {
            idle = edge.connect().await;
        }
    };
    in_time("it is answered", asking).await;
    for stream in [&mut silent, &mut slow, &mut idle] {
        let mut rest = Vec::new();
        let _ = in_time("the connection ends", stream.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn a_failed_accept_is_reported_to_name_lookups_as_a_shortage() {
    let edge = Edge::start().await;
    let shortage = Shortage::none();
    cannot_accept(edge.gateway(), &io::Error::from_raw_os_error(24), &shortage);
    assert!(shortage.is_felt());
    assert!(!Shortage::none().is_felt());
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_431() {
    let edge = Edge::start().await;
    let long = |length: usize| format!("X: {}\r\n", "y".repeat(length));
    for (headers, status) in [
        ("X: y\r\n".repeat(61), 200),
        ("X: y\r\n".repeat(63), 431),
        ("X: y\r\n".repeat(1000), 431),
        (long(16 * 1024), 200),
        (long(33 * 1024), 431),
    ] {
        assert_eq!(edge.request("GET", "/healthz", &headers, b"").await.status(), status);
    }
}

/// A proxy may have taken the second request for part of the first body, so it must not be
/// answered.
#[tokio::test]
async fn a_request_that_two_parsers_could_frame_differently_is_its_connections_last() {
    let edge = Edge::start().await;
    for (framing, body, status) in [
        ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", 409),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n", 409),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", "aaaaa", 400),
        ("Content-Length: 5, 6\r\n", "aaaaa", 400),
        ("Content-Length: 5,5\r\n", "aaaaa", 400),
        ("Content-Length: +5\r\n", "aaaaa", 400),
        ("Content-Length: 0x5\r\n", "aaaaa", 400),
        ("Content-Length: -1\r\n", "", 400),
        ("Content-Length: 18446744073709551621\r\n", "aaaaa", 400),
        ("Content-Length : 5\r\n", "aaaaa", 400),
        ("Transfer-Encoding: gzip\r\n", "0\r\n\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n", 400),
        ("Transfer-Encoding: identity\r\n", "", 400),
        ("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n", "1;\r\nx\r\n0x0\r\n\r\n", 409),
        ("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n", 409),
        (" folded: 1\r\n", "", 400),
        ("X: 1\r\n Content-Length: 5\r\n", "aaaaa", 400),
        ("Content-Length: 5\r\nX: \u{0}\r\n", "aaaaa", 400),
    ] {
        let answer = raw(
            &edge,
            &format!(
                "POST /v1/oid4vp/response/s HTTP/1.1\r\nHost: g\r\n{framing}\r\n{body}\
                 GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n"
            ),
        )
        .await;
        assert_eq!(answer.status(), status, "{framing:?}");
        assert!(!answer.body.contains("HTTP/1.1 200"), "{framing:?}: {answer:?}");
    }
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    let body = r#"{"issuer_id":"issuer"}"#;
    let create = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: g\r\n{bearer}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: g\r\n{headers}\r\n");
    let each = [
        get("/healthz", ""),
        create,
        get("/v1/sessions/ses_1", &bearer),
        get("/v1/sessions/ses_1", ""),
    ];
    let mut stream = edge.connect().await;
    stream.write_all(each.concat().repeat(3).as_bytes()).await.unwrap();
    stream.write_all(get("/x", "Connection: close\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    for (status, count) in [(200, 3), (201, 3), (404, 4), (401, 3)] {
        assert_eq!(text.matches(&format!("HTTP/1.1 {status}")).count(), count, "{text}");
    }
}

#[tokio::test]
async fn a_peers_connections_are_capped_and_freed() {
    let edge = Edge::with(caps(10, 2), &[]).await;
    let (mut a, mut b) = (edge.connect().await, edge.connect().await);
    assert!(answers(&mut a).await && answers(&mut b).await);
    assert!(!answers(&mut edge.connect().await).await);
    drop(a);
    let back = async || answers(&mut edge.connect().await).await;
    until("its place is free", back).await;
}

#[tokio::test]
async fn a_trusted_proxy_is_not_capped_but_the_total_is() {
    let edge = Edge::with(caps(3, 1), &[("trusted_proxies", "127.0.0.0/8")]).await;
    let bearer = edge.store.bearer(None);
    edge.store.set_mood(Mood::Stuck);
    let mut busy = Vec::new();
    for _ in 0..3 {
        let mut stream = edge.connect().await;
        let head = format!("DELETE /v1/sessions/ses_1 HTTP/1.1\r\nHost: g\r\n{bearer}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        busy.push(stream);
    }
    edge.until_answering(3).await;
    assert!(!answers(&mut edge.connect().await).await);
}

#[tokio::test]
async fn the_longest_silent_stranger_is_displaced_and_a_tenant_is_not() {
    let edge = Edge::with(caps(4, 100), &[]).await;
    let bearer = edge.store.bearer(None);
    let mut tenant = edge.connect().await;
    let head = format!("GET /v1/sessions/ses_1 HTTP/1.1\r\nHost: g\r\n{bearer}\r\n");
    tenant.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    tenant.read_exact(&mut first).await.unwrap();
    assert_eq!(first, *b"HTTP/1.1 404");
    let mut strangers = Vec::new();
    for _ in 0..10 {
        let mut stranger = edge.connect().await;
        assert!(answers(&mut stranger).await, "a newcomer is always served");
        strangers.push(stranger);
    }
    let mut open = 0;
    for stranger in &mut strangers {
        open += usize::from(in_time("it is answered or closed", answers_again(stranger)).await);
    }
    assert_eq!(open, 3);
    assert!(answers_again(&mut tenant).await);
}

#[tokio::test]
async fn a_tenant_gets_in_while_strangers_are_busy_in_all_their_places_and_no_other_stranger_does()
{
    let edge = Edge::with(caps(16, 100), &[("rate_limits", "off")]).await;
    let probation = edge.gateway().limits.probation;
    let made = edge.create().await;
    let head = format!(
        "POST /v1/oid4vp/response/{} HTTP/1.1\r\nHost: g\r\nContent-Length: 9\r\n\r\nhalf",
        made.id
    );
    let mut busy = Vec::new();
    for _ in 0..12 {
        let mut stranger = edge.connect().await;
        stranger.write_all(head.as_bytes()).await.unwrap();
        busy.push(stranger);
    }
    edge.until_reading(12).await;
    let mut wallet = edge.connect().await;
    wallet.write_all(head.as_bytes()).await.unwrap();
    Answer::read(&mut wallet).await.assert_error(503, "temporarily_unavailable");
    drop(wallet);
    let mut tenant = edge.connect().await;
    let asking = format!("GET {} HTTP/1.1\r\nHost: g\r\n{}\r\n", made.path(), made.bearer);
    tenant.write_all(asking.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    tenant.read_exact(&mut first).await.unwrap();
    assert_eq!(first, *b"HTTP/1.1 200");
    // A connection that shows no key soon ends, even if it keeps sending.
    for said in ["", "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n"] {
        let waiting = edge.clock.waiting_for(probation);
        let mut newcomer = edge.connect().await;
        edge.clock.until_waiting_for(probation, waiting + 1).await;
        for _ in 0..10 {
            if !said.is_empty() {
                newcomer.write_all(said.as_bytes()).await.unwrap();
                let answered = in_time("it is answered", newcomer.read(&mut [0; 4096])).await;
                assert!(answered.unwrap() > 0);
            }
            edge.clock.pass(probation / 10).await;
        }
        let _ = in_time("the connection ends", newcomer.read_to_end(&mut Vec::new())).await;
    }
    assert!(answers_again(&mut tenant).await);
    let admin = edge.store.admin_bearer();
    let metrics = edge.request("GET", "/metrics", &admin, b"").await.body;
    for line in [
        "idgate_connections_refused_total{reason=\"no_key\"} 2",
        "idgate_connections_displaced_total{kind=\"stranger\"} 0",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    drop(busy);
}

/// Whether a connection that has had a response gets another.
async fn answers_again(stream: &mut TcpStream) -> bool {
    let request = b"GET /v1/none HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n";
    let _ = stream.write_all(request).await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    String::from_utf8_lossy(&rest).contains("there is nothing at this path")
}

#[tokio::test]
async fn a_draining_gateway_sends_each_connection_one_last_response() {
    let edge = Edge::with(HttpLimits::default(), &[("drain_delay", "2")]).await;
    let (address, delay) = (edge.address(), Duration::from_secs(2));
    let mut idle = edge.connect().await;
    assert!(answers(&mut idle).await);
    let stopping = tokio::spawn(edge.running.shutdown());
    edge.clock.until_waiting_for(delay, 1).await;
    for mut stream in [idle, TcpStream::connect(address).await.unwrap()] {
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: g\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.contains("HTTP/1.1 503") && text.contains("\"accepting\":false"), "{text}");
        assert!(text.contains("connection: close"), "{text}");
    }
    edge.clock.pass(delay).await;
    in_time("it stops", stopping).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_request_that_crosses_the_stop_on_its_way_is_answered() {
    let edge = Edge::start().await;
    let mut busy = edge.connect().await;
    assert!(answers(&mut busy).await);
    let stopping = tokio::spawn(edge.running.shutdown());
    // The connection has noticed the stop.
    edge.clock.until_waiting_for(LAST_REQUESTS, 1).await;
    assert!(answers_again(&mut busy).await);
    in_time("it stops", stopping).await.unwrap();
}

#[tokio::test]
async fn shutdown_finishes_requests_in_progress_and_accepts_no_new_ones() {
    let edge = Edge::start().await;
    let address = edge.address();
    let made = edge.create().await;
    let mut idle = edge.connect().await;
    assert!(answers(&mut idle).await);
    let mut busy = edge.connect().await;
    let head = format!(
        "POST /v1/oid4vp/response/{} HTTP/1.1\r\nHost: g\r\nContent-Length: 4\r\n\r\n",
        made.id
    );
    busy.write_all(head.as_bytes()).await.unwrap();
    busy.write_all(b"ha").await.unwrap();
    edge.until_reading(1).await;
    let stopping = tokio::spawn(edge.running.shutdown());
    let refused = async || TcpStream::connect(address).await.is_err();
    until("connections are refused", refused).await;
    busy.write_all(b"lf").await.unwrap();
    let answer = Answer::read(&mut busy).await;
    answer.assert_error(400, "invalid_response");
    drop((idle, busy));
    in_time("it stops", stopping).await.unwrap();
}

#[tokio::test]
async fn requests_that_outlast_the_drain_are_cut_off() {
    let drain_timeout = Duration::from_millis(200);
    let edge = Edge::with(HttpLimits { drain_timeout, ..HttpLimits::default() }, &[]).await;
    let bearer = edge.store.bearer(None);
    edge.store.set_mood(Mood::Stuck);
    let mut stuck = edge.connect().await;
    let head = format!("DELETE /v1/sessions/ses_1 HTTP/1.1\r\nHost: g\r\n{bearer}\r\n");
    stuck.write_all(head.as_bytes()).await.unwrap();
    edge.until_answering(1).await;
    in_time("it stops", edge.running.shutdown()).await;
}

/// The response to these bytes.
async fn raw(edge: &Edge, request: &str) -> Answer {
    let mut stream = edge.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    Answer::read(&mut stream).await
}

#[tokio::test]
async fn a_request_has_one_valid_host() {
    let edge = Edge::start().await;
    for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: u@a\r\n", "Host:\r\n"] {
        let answer = raw(&edge, &format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n")).await;
        answer.assert_error(400, "invalid_request");
        assert!(answer.body.contains("Host"), "{hosts:?}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    for good in [
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET http://a/healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n",
    ] {
        assert_eq!(raw(&edge, good).await.status(), 200, "{good:?}");
    }
}

#[tokio::test]
async fn another_transfer_coding_is_400() {
    let edge = Edge::start().await;
    for coding in ["gzip, chunked", "identity, chunked", "gzip\r\nTransfer-Encoding: chunked"] {
        let head = format!(
            "POST /v1/oid4vp/response/s HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: {coding}\r\n\r\n"
        );
        let answer = raw(&edge, &format!("{head}0\r\n\r\n")).await;
        answer.assert_error(400, "invalid_request");
        assert!(answer.body.contains("Transfer-Encoding"), "{coding:?}");
    }
}

#[tokio::test]
async fn a_client_that_shuts_down_its_side_still_gets_the_response() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    // The response comes long after the client has closed its side.
    edge.store.set_mood(Mood::Stuck);
    let mut stream = edge.connect().await;
    let head = format!("DELETE /v1/sessions/ses_1 HTTP/1.1\r\nHost: g\r\n{bearer}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    edge.until_answering(1).await;
    edge.clock.pass(edge.gateway().limits.request_timeout).await;
    Answer::read(&mut stream).await.assert_error(503, "temporarily_unavailable");
}

#[tokio::test]
async fn a_peer_that_reads_nothing_is_cut_off() {
    let write_timeout = Duration::from_secs(7);
    let edge = Edge::with(HttpLimits { write_timeout, ..HttpLimits::default() }, &[]).await;
    let mut stream = edge.connect().await;
    let requests = "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n".repeat(1000);
    let talk = async { while stream.write_all(requests.as_bytes()).await.is_ok() {} };
    let passing = async {
        edge.clock.until_waiting_for(write_timeout, 1).await;
        edge.clock.pass(write_timeout).await;
    };
    in_time("the connection ends", async { tokio::join!(talk, passing) }).await;
}
