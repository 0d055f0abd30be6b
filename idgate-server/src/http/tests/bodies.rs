//! Sizes, types and times of bodies.

use super::*;
use crate::http::admission::turns::Kind;
use crate::limits::{LARGE_ANSWER_BYTES, MEMORY_PER_BODY_BYTE};

const JSON: &str = "Content-Type: application/json\r\n";
const MIB: usize = 1024 * 1024;

/// The path for answers to a new session.
async fn response_path(edge: &Edge) -> String {
    format!("/v1/oid4vp/response/{}", edge.create().await.id)
}

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
async fn a_body_over_1_mib_is_413_before_it_is_read_to_the_end() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let declared = format!("Content-Length: {}\r\n\r\n", MIB + 1);
    let chunk = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", 2 * MIB);
    let endless = [chunk.as_bytes(), &vec![b'x'; MIB + 4096]].concat();
    for rest in [
        declared.clone().into_bytes(),
        format!("Expect: 100-continue\r\n{declared}").into_bytes(),
        endless,
    ] {
        let mut stream = edge.connect().await;
        let head = format!("POST /v1/oid4vp/response/{} HTTP/1.1\r\nHost: g\r\n{JSON}", made.id);
        stream.write_all(&[head.as_bytes(), &rest].concat()).await.unwrap();
        Answer::read(&mut stream).await.assert_error(413, "payload_too_large");
    }
    assert_eq!(edge.read(&made).await["status"], "PENDING");
}

#[tokio::test]
async fn a_wallet_that_sends_too_much_still_sees_the_413() {
    let edge = Edge::start().await;
    let path = response_path(&edge).await;
    for length in [MIB + 1, 3 * MIB, 32 * MIB] {
        let answer = edge.request("POST", &path, JSON, &vec![b'x'; length]).await;
        answer.assert_error(413, "payload_too_large");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let answer = edge.chunked(&path, JSON, MIB + 1).await;
    answer.assert_error(413, "payload_too_large");
}

#[tokio::test]
async fn a_wallet_answer_of_the_largest_size_is_read() {
    let edge = Edge::start().await;
    let path = response_path(&edge).await;
    let answer = edge.request("POST", &path, JSON, &vec![b'x'; MIB]).await;
    answer.assert_error(400, "invalid_response");
    let answer = edge.chunked(&path, JSON, MIB).await;
    answer.assert_error(400, "invalid_response");
}

#[tokio::test]
async fn large_answers_beyond_the_budget_get_503_and_retry_after() {
    let limits = HttpLimits { large_responses: 0, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let path = response_path(&edge).await;
    let answer = edge.request("POST", &path, JSON, &vec![b'x'; 65 * 1024]).await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let answer = edge.request("POST", &path, JSON, b"x").await;
    answer.assert_error(400, "invalid_response");
}

/// Sends the start of a large answer.
async fn begin_large(edge: &Edge, path: &str, headers: &str) -> TcpStream {
    let mut stream = edge.connect().await;
    let head = format!("POST {path} HTTP/1.1\r\nHost: g\r\n{headers}Content-Length: {MIB}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // The gateway may refuse it before all of this is sent.
    let _ = stream.write_all(&vec![b'x'; 600 * 1024]).await;
    stream
}

/// A sender that stops in the middle of a large answer, when memory for all of it is reserved.
async fn slow_sender(edge: &Edge, path: &str, headers: &str) -> TcpStream {
    let before = edge.body_memory();
    let stream = begin_large(edge, path, headers).await;
    let all = before + u64::try_from(MIB * MEMORY_PER_BODY_BYTE).unwrap();
    until("it has memory for all", async || edge.body_memory() == all).await;
    stream
}

#[tokio::test]
async fn slow_senders_of_large_answers_do_not_delay_others() {
    let limits = HttpLimits { large_responses: 1, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let path = response_path(&edge).await;
    let _slow = slow_sender(&edge, &path, "").await;
    let answer = edge.request("POST", &path, JSON, &vec![b'x'; 65 * 1024]).await;
    answer.assert_error(400, "invalid_response");
}

#[tokio::test]
async fn one_peers_bodies_use_up_only_its_own_share_of_memory() {
    // The slow sender keeps its share for longer than a request waits for one.
    let limits = HttpLimits { memory_wait: Duration::from_millis(100), ..HttpLimits::default() };
    // A body counts eight times its length, and a share holds one of the largest.
    let settings =
        [("trusted_proxies", "127.0.0.0/8"), ("body_memory", "64"), ("rate_limits", "off")];
    let edge = Edge::with(limits, &settings).await;
    let path = response_path(&edge).await;
    let from = |peer: &str| format!("{JSON}X-Forwarded-For: {peer}\r\n");
    let slow = slow_sender(&edge, &path, &from("192.0.2.1")).await;
    let answer = edge.request("POST", &path, &from("192.0.2.1"), b"x").await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let large = vec![b'x'; 65 * 1024];
    let answer = edge.request("POST", &path, &from("192.0.2.2"), &large).await;
    answer.assert_error(400, "invalid_response");
    drop(slow);
    let again =
        async || edge.request("POST", &path, &from("192.0.2.1"), &large).await.status() != 503;
    until("the memory is given back", again).await;
}

#[tokio::test]
async fn large_bodies_of_strangers_leave_memory_for_small_bodies_and_tenants() {
    let settings =
        [("trusted_proxies", "127.0.0.0/8"), ("body_memory", "64"), ("rate_limits", "off")];
    let edge = Edge::with(HttpLimits::default(), &settings).await;
    let path = response_path(&edge).await;
    let from = |peer: usize| format!("X-Forwarded-For: 192.0.2.{peer}\r\n");
    let mut slow = Vec::new();
    for peer in 0..6 {
        slow.push(slow_sender(&edge, &path, &from(peer)).await);
    }
    let mut seventh = begin_large(&edge, &path, &from(6)).await;
    Answer::read(&mut seventh).await.assert_error(503, "temporarily_unavailable");
    let headers = format!("{JSON}{}", from(200));
    let answer = edge.request("POST", &path, &headers, &vec![b'x'; 600 * 1024]).await;
    answer.assert_error(503, "temporarily_unavailable");
    let answer = edge.request("POST", &path, &headers, &vec![b'x'; 60 * 1024]).await;
    answer.assert_error(400, "invalid_response");
    edge.create().await;
}

#[tokio::test]
async fn a_large_body_takes_memory_as_it_arrives() {
    let settings =
        [("trusted_proxies", "127.0.0.0/8"), ("body_memory", "16"), ("rate_limits", "off")];
    let edge = Edge::with(HttpLimits::default(), &settings).await;
    let path = response_path(&edge).await;
    let mut begun = Vec::new();
    // If memory were reserved for the declared lengths, there would be room for one.
    for peer in 0..12 {
        let mut stream = edge.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: g\r\n{JSON}X-Forwarded-For: 192.0.2.{peer}\r\n\
             Connection: close\r\nContent-Length: {MIB}\r\n\r\nbegin"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        begun.push(stream);
    }
    let first = u64::try_from(LARGE_ANSWER_BYTES * MEMORY_PER_BODY_BYTE).unwrap();
    until("all have begun", async || edge.body_memory() == 12 * first).await;
    let from = format!("{JSON}X-Forwarded-For: 192.0.2.200\r\n");
    let answer = edge.request("POST", &path, &from, &vec![b'x'; 300 * 1024]).await;
    answer.assert_error(400, "invalid_response");
    begun.truncate(1);
    until("the others' memory is free", async || edge.body_memory() == first).await;
    begun[0].write_all(&vec![b' '; MIB - 5]).await.unwrap();
    Answer::read(&mut begun[0]).await.assert_error(400, "invalid_response");
}

#[tokio::test]
async fn a_tenant_that_sends_slowly_does_not_hold_a_turn() {
    let edge = Edge::with(HttpLimits::default(), &[("rate_limits", "off")]).await;
    let headers = format!("{}{JSON}", edge.store.bearer(None));
    let mut slow = Vec::new();
    // More than may write at the same time.
    for _ in 0..80 {
        let mut stream = edge.connect().await;
        let head = format!(
            "POST /v1/sessions HTTP/1.1\r\nHost: g\r\n{headers}Content-Length: 9\r\n\r\nhalf"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    edge.until_reading(80).await;
    in_time("it is its turn", edge.create()).await;
    for mut stream in slow {
        stream.write_all(b"rest!").await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(first, *b"HTTP/1.1 400");
    }
}

#[tokio::test]
async fn one_request_beyond_a_clients_waiting_limit_is_refused_immediately() {
    let limits = HttpLimits { connections_per_peer: 1000, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let (bearer, other) = (edge.store.bearer(None), edge.store.test_bearer());
    edge.store.set_mood(Mood::Stuck);
    let mut busy = Vec::new();
    for _ in 0..64 + 256 {
        let mut stream = edge.connect().await;
        let head = format!("DELETE /v1/sessions/ses_1 HTTP/1.1\r\nHost: g\r\n{bearer}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        busy.push(stream);
    }
    let all = async || edge.gateway().turns.count(Kind::Writing) == (64, 256);
    until("there is no place to wait", all).await;
    let answer = edge.request("DELETE", "/v1/sessions/ses_1", &bearer, b"").await;
    answer.assert_error(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("1"));
    // 64 requests were charged; this one was not.
    assert_eq!(answer.header("ratelimit"), Some("\"delete\";r=36;t=3"));
    // Where the API lists no 429.
    let answer = edge.request("POST", "/v1/webhooks/failures/whf_1/retry", &bearer, b"").await;
    answer.assert_error(503, "temporarily_unavailable");
    // Reads, and requests of other clients, are not affected.
    for bearer in [&bearer, &other] {
        let answer = edge.request("GET", "/v1/sessions/ses_1", bearer, b"").await;
        answer.assert_error(404, "not_found");
    }
}

#[tokio::test]
async fn a_session_that_accepts_no_answer_is_refused_before_the_body_is_read() {
    let edge = Edge::start().await;
    let settled = edge.create().await;
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let body = format!("error=access_denied&state={}", settled.parameter("state"));
    let path = format!("/v1/oid4vp/response/{}", settled.id);
    assert_eq!(edge.request("POST", &path, form, body.as_bytes()).await.status(), 200);
    let head = |path: &str, length: usize| {
        format!("POST {path} HTTP/1.1\r\nHost: g\r\nContent-Length: {length}\r\n{JSON}\r\n")
    };
    for path in [&*path, "/v1/oid4vp/response/ses_1"] {
        for length in [1, MIB, 32 * MIB] {
            let mut stream = edge.connect().await;
            stream.write_all(head(path, length).as_bytes()).await.unwrap();
            Answer::read(&mut stream).await.assert_error(409, "session_not_pending");
        }
    }
    let head = head("/v1/oid4vp/request/ses_1", 1).replace(JSON, form);
    let mut stream = edge.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    Answer::read(&mut stream).await.assert_error(404, "not_found");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_400() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    let path = response_path(&edge).await;
    for (path, headers, code) in [
        (&*path, JSON.to_owned(), "invalid_response"),
        ("/v1/sessions", format!("{bearer}{JSON}"), "invalid_request"),
    ] {
        let mut stream = edge.connect().await;
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: g\r\nContent-Length: 9\r\n{headers}\r\nhalf");
        stream.write_all(head.as_bytes()).await.unwrap();
        edge.until_reading(1).await;
        edge.clock.pass(edge.gateway().limits.body_timeout).await;
        Answer::read(&mut stream).await.assert_error(400, code);
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_503() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    edge.store.set_mood(Mood::Stuck);
    let passing = async {
        edge.until_answering(1).await;
        edge.clock.pass(edge.gateway().limits.request_timeout).await;
    };
    let asking = edge.request("DELETE", "/v1/sessions/ses_1", &bearer, b"");
    let (answer, ()) = tokio::join!(asking, passing);
    answer.assert_error(503, "temporarily_unavailable");
}

#[tokio::test]
async fn a_creation_of_10_mib_gets_its_answer() {
    let edge = Edge::start().await;
    let headers = format!("{}{JSON}", edge.store.bearer(None));
    let body = vec![b' '; 10 * MIB];
    let answer = edge.request("POST", "/v1/sessions", &headers, &body).await;
    answer.assert_error(400, "invalid_request");
    let answer = edge.request("POST", "/v1/sessions", JSON, &body).await;
    answer.assert_error(401, "invalid_api_key");
}
