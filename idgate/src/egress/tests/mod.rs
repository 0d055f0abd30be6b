//! Outgoing requests over real sockets.

mod faults;
mod forms;
mod lookups;
mod redirects;
mod resolution;

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::loopback::Loopback;
use crate::tls_loopback::TlsLoopback;

const LIMIT: usize = 1000;

fn egress(ranges: &[&str]) -> Egress {
    let allowed = ranges.iter().map(|range| Cidr::parse(range).unwrap()).collect();
    Egress::new(allowed, None).unwrap()
}

impl Egress {
    async fn get(&self, url: &str, accept: &str, limit: usize) -> Result<Bytes, EgressError> {
        let fetched = self.fetch(url, accept, limit, &Room::of(0)).await;
        fetched.map(|fetched| fetched.bytes)
    }
}

async fn get(url: &str) -> Result<Bytes, EgressError> {
    egress(&["127.0.0.0/8", "::1"]).get(url, "text/plain", LIMIT).await
}

#[tokio::test]
async fn a_body_comes_back_and_the_request_is_plain() {
    let server = Loopback::start().await;
    server.give(b"hello");
    let url = format!("http://localhost:{}/a/b?c=d#e", server.address().port());
    assert_eq!(get(&url).await.unwrap(), "hello");
    let head = server.last_head().to_ascii_lowercase();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "get /a/b?c=d http/1.1");
    lines.sort_unstable();
    let host = format!("host: localhost:{}", server.address().port());
    let expected = ["accept-encoding: gzip", "accept: text/plain", &*host, "user-agent: idgate"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn large_bodies_share_their_room_and_small_ones_need_none() {
    let (server, egress) = (Loopback::start().await, egress(&["127.0.0.0/8"]));
    let (limit, room, url) = (200 * 1024, Room::of(250 * 1024), server.url());
    let fetch = || egress.fetch(&url, "*/*", limit, &room);
    server.give(&[b'x'; 150 * 1024]);
    let first = fetch().await.unwrap();
    assert_eq!(fetch().await.unwrap_err(), EgressError::OwnFault);
    server.give(&[b'x'; 64 * 1024]);
    assert!(fetch().await.is_ok());
    // A body of unknown length counts with the largest length.
    let chunk = "x".repeat(70 * 1024);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    server.give_bytes(format!("{head}{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len()).into_bytes());
    assert_eq!(fetch().await.unwrap_err(), EgressError::OwnFault);
    drop(first);
    assert_eq!(fetch().await.unwrap().as_ref(), chunk.as_bytes());
}

#[tokio::test]
async fn a_body_of_unknown_length_takes_room_as_it_grows() {
    let (server, egress) = (Loopback::start().await, egress(&["127.0.0.0/8"]));
    let (limit, room, url) = (10 * 1024 * 1024, Room::of(128 * 1024), server.url());
    for (kib, fits) in [(100, true), (129, false)] {
        let chunk = "x".repeat(kib * 1024);
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        server.give_bytes(format!("{head}{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len()).into_bytes());
        let fetched = egress.fetch(&url, "*/*", limit, &room).await;
        assert_eq!(fetched.as_ref().err(), (!fits).then_some(&EgressError::OwnFault), "{kib}");
        assert!(fetched.is_err() || fetched.is_ok_and(|body| body.as_ref().len() == kib * 1024));
    }
}

#[tokio::test]
async fn unusable_urls_are_not_requested() {
    for url in [
        "",
        "list",
        "//127.0.0.1/list",
        "ftp://127.0.0.1/list",
        "file:///etc/passwd",
        "data:text/plain,x",
        "http://user@127.0.0.1/list",
        "http://user:password@127.0.0.1/list",
        "http:///",
    ] {
        assert_eq!(get(url).await.unwrap_err(), EgressError::InvalidUrl, "{url}");
    }
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_reached() {
    let server = Loopback::start().await;
    server.give(b"secret");
    let port = server.address().port();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
    ] {
        let url = format!("http://{host}:{port}/list");
        let outcome = egress(&[]).get(&url, "*/*", LIMIT).await.unwrap_err();
        let refused = matches!(outcome, EgressError::AddressBlocked | EgressError::DnsFailed);
        assert!(refused, "{host}: {outcome}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn one_private_address_makes_the_whole_answer_unusable() {
    let mixed = ["8.8.8.8:80", "127.0.0.1:80"].map(|text| text.parse().unwrap());
    let egress = egress(&[]);
    assert_eq!(egress.check(mixed.to_vec()), Err(EgressError::AddressBlocked));
    assert_eq!(egress.check(mixed[..1].to_vec()), Ok(mixed[..1].to_vec()));
    assert_eq!(egress.check(Vec::new()), Err(EgressError::DnsFailed));
}

#[tokio::test]
async fn the_gateways_own_listener_is_never_reached() {
    let server = Loopback::start().await;
    server.give(b"hello");
    let port = server.address().port();
    for own in [server.address(), format!("0.0.0.0:{port}").parse().unwrap()] {
        let egress = egress(&["127.0.0.0/8"]).avoiding(own);
        let refused = egress.get(&server.url(), "*/*", LIMIT).await.unwrap_err();
        assert_eq!(refused, EgressError::AddressBlocked, "{own}");
    }
    assert_eq!(server.connections(), 0);
}

/// This machine's outgoing address, if it has a route. Nothing is sent.
fn outer_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let routed = socket.connect("8.8.8.8:9").and_then(|()| socket.local_addr());
    routed.map_or(std::net::Ipv4Addr::LOCALHOST.into(), |address| address.ip())
}

#[test]
fn a_listener_on_every_address_is_not_reached_at_any_of_them() {
    let outer = outer_address();
    let all = egress(&["0.0.0.0/0"]).avoiding("0.0.0.0:8080".parse().unwrap());
    for own in [outer, "127.0.0.1".parse().unwrap(), "127.0.0.9".parse().unwrap()] {
        let refused = all.check(vec![SocketAddr::new(own, 8080)]);
        assert_eq!(refused, Err(EgressError::AddressBlocked), "{own}");
        assert!(all.check(vec![SocketAddr::new(own, 8081)]).is_ok(), "{own}");
    }
    let elsewhere = SocketAddr::new("8.8.8.8".parse().unwrap(), 8080);
    assert!(all.check(vec![elsewhere]).is_ok());
    // reason: nothing listens there
    let inner = egress(&["0.0.0.0/0"]).avoiding("127.0.0.1:8080".parse().unwrap());
    assert_eq!(inner.check(vec![SocketAddr::new(outer, 8080)]).is_ok(), !outer.is_loopback());
}

#[tokio::test]
async fn bodies_and_heads_have_limits() {
    let server = Loopback::start().await;
    server.give(&[b'x'; LIMIT]);
    assert_eq!(get(&server.url()).await.unwrap().len(), LIMIT);
    server.give(&[b'x'; LIMIT + 1]);
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TooLarge);
    let unannounced = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; LIMIT + 1]].concat();
    server.give_bytes(unannounced);
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TooLarge);
    for headers in ["A: b\r\n".repeat(101), format!("A: {}\r\n", "b".repeat(MAX_ANSWER_HEAD_BYTES))]
    {
        server.give_with("200 OK", &headers, b"hello");
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Broken);
    }
}

#[tokio::test]
async fn other_statuses_and_other_bytes_are_not_an_answer() {
    let server = Loopback::start().await;
    for (status, code) in [("404 Not Found", 404), ("406 No", 406), ("503 Down", 503)] {
        server.give_with(status, "", b"hello");
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Status(code));
    }
    for junk in [&b""[..], b"hello", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"] {
        server.give_bytes(junk.to_vec());
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Broken);
    }
}

#[tokio::test]
async fn tls_needs_a_trusted_root_and_the_right_name() {
    let server = TlsLoopback::start().await;
    server.give(b"hello");
    let (address, pem) = (server.address, &server.root);
    let allowed = || vec![Cidr::parse("127.0.0.0/8").unwrap(), Cidr::parse("::1").unwrap()];
    let trusting = Egress::new(allowed(), Some(pem.as_bytes())).unwrap();
    let url = format!("https://{address}/");
    assert_eq!(trusting.get(&url, "*/*", LIMIT).await.unwrap(), "hello");
    let other_name = format!("https://localhost:{}/", address.port());
    for (egress, url) in [(trusting, other_name), (Egress::new(allowed(), None).unwrap(), url)] {
        let refused = egress.get(&url, "*/*", LIMIT).await.unwrap_err();
        assert_eq!(refused, EgressError::TlsFailed, "{url}");
    }
}
