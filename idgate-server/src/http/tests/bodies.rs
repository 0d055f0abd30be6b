//! Sizes, types and times of bodies.

use super::*;

const JSON: &str = "Content-Type: application/json\r\n";
const RESPONSE: &str = "/v1/oid4vp/response/ses_1";
const MIB: usize = 1024 * 1024;

impl Edge {
    async fn chunked(&self, path: &str, headers: &str, length: usize) -> Answer {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n{headers}\r\n{length:x}\r\n"
        );
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let _ = stream.write_all(&vec![b'x'; length]).await;
        let _ = stream.write_all(b"\r\n0\r\n\r\n").await;
        Answer::read(&mut stream).await
    }
}

#[tokio::test]
async fn a_creation_without_its_content_type_is_400() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    for content_type in ["", "Content-Type: text/plain\r\n", &format!("{JSON}{JSON}")] {
        let headers = format!("{bearer}{content_type}");
        let answer = edge.request("POST", "/v1/sessions", &headers, b"{}").await;
        answer.assert_error(400, "invalid_request");
        assert!(answer.body.contains("Content-Type"));
    }
}

#[tokio::test]
async fn a_creation_over_64_kib_is_400_declared_or_not() {
    let edge = Edge::start().await;
    let headers = format!("{}{JSON}", edge.store.bearer(None));
    let body = vec![b'x'; 64 * 1024 + 1];
    let answer = edge.request("POST", "/v1/sessions", &headers, &body).await;
    answer.assert_error(400, "invalid_request");
    assert!(answer.body.contains("64 KiB"));
    let answer = edge.chunked("/v1/sessions", &headers, body.len()).await;
    answer.assert_error(400, "invalid_request");
    assert!(answer.body.contains("64 KiB"));
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_it_is_sent() {
    let edge = Edge::start().await;
    let mut stream = edge.connect().await;
    let head = format!(
        "POST {RESPONSE} HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        MIB + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    Answer::read(&mut stream).await.assert_error(413, "payload_too_large");
}

#[tokio::test]
async fn a_wallet_that_sends_too_much_still_sees_the_413() {
    let edge = Edge::start().await;
    let answer = edge.request("POST", RESPONSE, JSON, &vec![b'x'; MIB + 1]).await;
    answer.assert_error(413, "payload_too_large");
    assert_eq!(answer.header("connection"), Some("close"));
    let answer = edge.chunked(RESPONSE, JSON, MIB + 1).await;
    answer.assert_error(413, "payload_too_large");
}

#[tokio::test]
async fn a_wallet_answer_of_the_largest_size_is_read() {
    let edge = Edge::start().await;
    let answer = edge.request("POST", RESPONSE, JSON, &vec![b'x'; MIB]).await;
    assert!([400, 409].contains(&answer.status()), "{answer:?}");
}

#[tokio::test]
async fn large_answers_beyond_the_budget_are_told_to_come_back() {
    let limits = HttpLimits { large_responses: 0, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let answer = edge.request("POST", RESPONSE, JSON, &vec![b'x'; 65 * 1024]).await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let answer = edge.request("POST", RESPONSE, JSON, b"x").await;
    assert!([400, 409].contains(&answer.status()), "{answer:?}");
}

/// A sender that stops in the midst of a large answer.
async fn slow_sender(edge: &Edge, headers: &str) -> TcpStream {
    let mut stream = edge.connect().await;
    let head =
        format!("POST {RESPONSE} HTTP/1.1\r\nHost: g\r\n{headers}Content-Length: {MIB}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; 100 * 1024]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stream
}

#[tokio::test]
async fn slow_senders_of_large_answers_hold_up_nobody_else() {
    let limits = HttpLimits { large_responses: 1, large_per_peer: 2, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let _slow = slow_sender(&edge, "").await;
    let answer = edge.request("POST", RESPONSE, JSON, &vec![b'x'; 65 * 1024]).await;
    assert!([400, 409].contains(&answer.status()), "{answer:?}");
}

#[tokio::test]
async fn a_peer_has_so_many_large_answers_in_flight_and_others_have_their_own() {
    let limits = HttpLimits {
        large_per_peer: 1,
        large_wait: Duration::from_millis(100),
        ..HttpLimits::default()
    };
    let edge = Edge::with(limits, &[("trusted_proxies", "127.0.0.0/8")]).await;
    let from = |peer: &str| format!("{JSON}X-Forwarded-For: {peer}\r\n");
    let slow = slow_sender(&edge, &from("192.0.2.1")).await;
    let large = vec![b'x'; 65 * 1024];
    let answer = edge.request("POST", RESPONSE, &from("192.0.2.1"), &large).await;
    answer.assert_error(503, "temporarily_unavailable");
    let answer = edge.request("POST", RESPONSE, &from("192.0.2.2"), &large).await;
    assert!([400, 409].contains(&answer.status()), "{answer:?}");
    drop(slow);
    let again = async {
        while edge.request("POST", RESPONSE, &from("192.0.2.1"), &large).await.status() == 503 {}
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the place is free again");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_400() {
    let body_timeout = Duration::from_millis(200);
    let edge = Edge::with(HttpLimits { body_timeout, ..HttpLimits::default() }, &[]).await;
    let bearer = edge.store.bearer(None);
    for (path, headers, code) in [
        (RESPONSE, JSON.to_owned(), "invalid_response"),
        ("/v1/sessions", format!("{bearer}{JSON}"), "invalid_request"),
    ] {
        let mut stream = edge.connect().await;
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: g\r\nContent-Length: 9\r\n{headers}\r\nhalf");
        stream.write_all(head.as_bytes()).await.unwrap();
        Answer::read(&mut stream).await.assert_error(400, code);
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_503() {
    let request_timeout = Duration::from_millis(200);
    let edge = Edge::with(HttpLimits { request_timeout, ..HttpLimits::default() }, &[]).await;
    let bearer = edge.store.bearer(None);
    edge.store.set_mood(Mood::Stuck);
    let answer = edge.request("DELETE", "/v1/sessions/ses_1", &bearer, b"").await;
    answer.assert_error(503, "temporarily_unavailable");
}
