//! Accepted forms of a body: statuses and content codings.

use idgate_core::limits::MAX_STATUS_BYTES;
use idgate_testkit::gzip::{gzip, gzip_named};

use super::*;
use crate::loopback::{answer, header};

const GZIP: &str = "Content-Encoding: gzip\r\n";

#[tokio::test]
async fn every_2xx_with_a_body_except_206_is_an_answer() {
    let server = Loopback::start().await;
    for status in ["200 OK", "201 Created", "202 Accepted", "203 Non-Authoritative Information"] {
        server.give_with(status, "", b"hello");
        assert_eq!(get(&server.url()).await.unwrap(), "hello", "{status}");
    }
    let part = "Content-Range: bytes 0-4/9\r\n";
    for (status, headers, code) in [("206 Partial Content", part, 206), ("300 Choices", "", 300)] {
        server.give_with(status, headers, b"hello");
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Status(code));
    }
}

#[tokio::test]
async fn an_answer_without_a_body_is_none() {
    let server = Loopback::start().await;
    let nothing = gzip(b"");
    for (headers, body) in [("", &b""[..]), (GZIP, &nothing)] {
        server.give_with("200 OK", headers, body);
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::NoBody, "{headers}");
    }
    server.give_with("204 No Content", "", b"");
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Status(204));
}

#[tokio::test]
async fn a_host_that_always_compresses_is_understood() {
    let server = Loopback::start().await;
    for coding in ["gzip", "GZIP", "x-gzip", "identity, gzip", "gzip,"] {
        let headers = format!("Content-Encoding: {coding}\r\n");
        for coded in [gzip(b"hello"), gzip_named(b"hello", b"list.jwt")] {
            server.give_with("200 OK", &headers, &coded);
            assert_eq!(get(&server.url()).await.unwrap(), "hello", "{coding}");
        }
    }
    server.give_with("200 OK", "Content-Encoding: identity\r\n", b"hello");
    assert_eq!(get(&server.url()).await.unwrap(), "hello");
    // In chunks, each of one byte.
    let chunks =
        gzip(b"hello").into_iter().flat_map(|byte| [&b"1\r\n"[..], &[byte], b"\r\n"].concat());
    let head = format!("HTTP/1.1 200 OK\r\n{GZIP}Transfer-Encoding: chunked\r\n\r\n");
    server.give_bytes(head.into_bytes().into_iter().chain(chunks).chain(*b"0\r\n\r\n").collect());
    assert_eq!(get(&server.url()).await.unwrap(), "hello");
}

#[tokio::test]
async fn accept_encoding_asks_for_gzip() {
    let server = Loopback::start().await;
    server.give_by(|head| match header(head, "accept-encoding") {
        Some("gzip") => answer("200 OK", GZIP, &gzip(b"hello")),
        _ => answer("415 Unsupported Media Type", "", b""),
    });
    assert_eq!(get(&server.url()).await.unwrap(), "hello");
}

#[tokio::test]
async fn another_coding_is_refused_and_so_are_two() {
    let server = Loopback::start().await;
    let coded = gzip(&gzip(b"hello"));
    for headers in [
        "Content-Encoding: br\r\n",
        "Content-Encoding: deflate\r\n",
        "Content-Encoding: compress\r\n",
        "Content-Encoding: gzip, gzip\r\n",
        "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
        "Content-Encoding: gzip;q=1\r\n",
        "Content-Encoding: \u{e9}\r\n",
    ] {
        server.give_with("200 OK", headers, &coded);
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::Encoded, "{headers}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_its_coding_says_is_refused() {
    let server = Loopback::start().await;
    let coded = gzip(b"hello");
    let mut changed = coded.clone();
    let last = changed.len() - 5;
    changed[last] ^= 1;
    for body in [&b"hello"[..], b"", &coded[..coded.len() - 1], &changed] {
        server.give_with("200 OK", GZIP, body);
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::BadCoding);
    }
}

#[tokio::test]
async fn bytes_behind_a_compressed_body_are_refused() {
    let server = Loopback::start().await;
    for more in [&b"\0"[..], b"hello"] {
        server.give_with("200 OK", GZIP, &[&gzip(b"hello"), more].concat());
        assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TrailingBytes);
    }
}

#[tokio::test]
async fn a_second_gzip_member_is_refused() {
    let server = Loopback::start().await;
    server.give_with("200 OK", GZIP, &[gzip(b"hel"), gzip(b"lo")].concat());
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TrailingBytes);
}

#[tokio::test]
async fn the_limit_holds_for_what_is_inflated() {
    let server = Loopback::start().await;
    server.give_with("200 OK", GZIP, &gzip(&[b'x'; LIMIT]));
    assert_eq!(get(&server.url()).await.unwrap().len(), LIMIT);
    server.give_with("200 OK", GZIP, &gzip(&[b'x'; LIMIT + 1]));
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TooLarge);
}

/// Zeros shrink to a thousandth. Bytes beyond the limit are never inflated, so the missing end of
/// the member is not noticed.
#[tokio::test]
async fn a_bomb_ends_at_the_limit_and_takes_no_room_beyond_it() {
    let server = Loopback::start().await;
    let (limit, egress) = (MAX_STATUS_BYTES, egress(&["127.0.0.0/8"]));
    let mut bomb = gzip(&vec![0; 2 * limit]);
    bomb.truncate(bomb.len() - 100);
    assert!(bomb.len() < limit / 100);
    server.give_with("200 OK", GZIP, &bomb);
    let room = Room::of(limit);
    let fetched = egress.fetch(&server.url(), "*/*", limit, &room).await;
    assert_eq!(fetched.unwrap_err(), EgressError::TooLarge);
    assert!(room.take(limit).is_ok(), "all of it is given back");
    // Memory is reserved for the inflated body, not for the received bytes.
    let fetched = egress.fetch(&server.url(), "*/*", limit, &Room::of(limit / 2)).await;
    assert_eq!(fetched.unwrap_err(), EgressError::OwnFault);
    server.give_with("200 OK", GZIP, &gzip(&vec![0; limit]));
    assert_eq!(
        egress.fetch(&server.url(), "*/*", limit, &room).await.unwrap().as_ref().len(),
        limit
    );
}
