//! Rate limits on virtual time (decisions 15).

use super::*;

/// A gateway that trusts the tests' `X-Forwarded-For`.
async fn behind_a_proxy() -> Edge {
    Edge::with(HttpLimits::default(), &[("trusted_proxies", "127.0.0.0/8")]).await
}

fn from(address: &str) -> String {
    format!("X-Forwarded-For: {address}\r\n")
}

/// Sends requests until one is answered with 429; returns how many were not, and the 429.
async fn until_limited(edge: &Edge, method: &str, path: &str, headers: &str) -> (usize, Answer) {
    for passed in 0..1000 {
        let answer = edge.request(method, path, headers, b"").await;
        if answer.status() == 429 {
            return (passed, answer);
        }
    }
    panic!("never limited: {method} {path}");
}

#[tokio::test]
async fn tenants_have_bursts_for_each_mode_and_client() {
    let browsers = [("profiles", "draft,1.0"), ("dc_api", "unsigned")];
    let edge = Edge::with(HttpLimits::default(), &browsers).await;
    let (live, test) = (edge.store.bearer(None), edge.store.test_bearer());
    for (method, path, live_burst, test_burst) in [
        ("POST", "/v1/sessions", 100, 25),
        ("GET", "/v1/sessions/ses_1", 200, 50),
        ("DELETE", "/v1/sessions/ses_1", 100, 100),
        ("POST", "/v1/sessions/ses_1/dc-api", 100, 100),
        ("GET", "/v1/api-keys", 20, 20),
        ("GET", "/v1/webhook-endpoint", 20, 20),
    ] {
        for (bearer, burst) in [(&live, live_burst), (&test, test_burst)] {
            let (passed, answer) = until_limited(&edge, method, path, bearer).await;
            assert_eq!(passed, burst, "{method}");
            answer.assert_error(429, "rate_limited");
        }
    }
}

#[tokio::test]
async fn a_429_says_when_to_retry_and_other_responses_what_is_left() {
    let edge = Edge::start().await;
    let bearer = edge.store.test_bearer();
    let first = edge.request("POST", "/v1/sessions", &bearer, b"").await;
    assert_eq!(first.header("retry-after"), None);
    assert_eq!(first.header("ratelimit"), Some("\"create\";r=24;t=1"));
    assert_eq!(first.header("ratelimit-policy"), Some("\"create\";q=25;w=5"));
    let (passed, answer) = until_limited(&edge, "POST", "/v1/sessions", &bearer).await;
    assert_eq!(passed, 24);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.header("ratelimit-policy"), Some("\"create\";q=25;w=5"));
    assert_eq!(answer.header("ratelimit"), Some("\"create\";r=0;t=1"));
    // 5 per second: the next is allowed after 200 ms, not before.
    edge.clock.advance(199);
    assert_eq!(until_limited(&edge, "POST", "/v1/sessions", &bearer).await.0, 0);
    edge.clock.advance(1);
    assert_eq!(until_limited(&edge, "POST", "/v1/sessions", &bearer).await.0, 1);
}

#[tokio::test]
async fn a_session_takes_six_answers_a_minute_from_a_network() {
    let edge = behind_a_proxy().await;
    let path = "/v1/oid4vp/response/ses_1";
    let (passed, answer) = until_limited(&edge, "POST", path, &from("192.0.2.1")).await;
    assert_eq!((passed, answer.header("retry-after")), (6, Some("10")));
    assert_eq!(answer.header("ratelimit-policy"), Some("\"response-session\";q=6;w=60"));
    // Another network has its own allowance.
    assert_eq!(until_limited(&edge, "POST", path, &from("192.0.2.2")).await.0, 6);
    edge.clock.advance(10_000);
    assert_eq!(until_limited(&edge, "POST", path, &from("192.0.2.1")).await.0, 1);
}

#[tokio::test]
async fn a_session_serves_its_request_object_ten_times_a_minute() {
    let edge = Edge::start().await;
    let path = "/v1/oid4vp/request/ses_1";
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    edge.request("POST", path, form, b"").await.assert_error(404, "not_found");
    let (passed, answer) = until_limited(&edge, "GET", path, "").await;
    assert_eq!((passed, answer.header("retry-after")), (9, Some("6")));
    assert_eq!(answer.header("ratelimit-policy"), Some("\"request-session\";q=10;w=60"));
    answer.assert_error(429, "rate_limited");
    assert_eq!(edge.request("POST", path, form, b"").await.status(), 429);
}

#[tokio::test]
async fn a_peer_may_post_a_hundred_answers_in_a_burst() {
    let edge = behind_a_proxy().await;
    let mut passed = 0;
    for n in 0..200 {
        let path = format!("/v1/oid4vp/response/ses_{n}");
        // One IPv6 peer owns a /64.
        let address = format!("2001:db8::{n:x}");
        let answer = edge.request("POST", &path, &from(&address), b"").await;
        if answer.status() == 429 {
            assert_eq!(answer.header("ratelimit-policy"), Some("\"response-peer\";q=100;w=5"));
            break;
        }
        passed += 1;
    }
    assert_eq!(passed, 100);
    let other = from("2001:db8:0:1::1");
    let answer = edge.request("POST", "/v1/oid4vp/response/ses_x", &other, b"").await;
    assert_ne!(answer.status(), 429);
}

#[tokio::test]
async fn failed_authentications_end_in_429_where_it_is_listed_and_in_a_closed_connection_elsewhere()
{
    let edge = behind_a_proxy().await;
    let peer = from("192.0.2.1");
    let (passed, answer) = until_limited(&edge, "GET", "/v1/sessions/ses_1", &peer).await;
    assert_eq!((passed, answer.header("retry-after")), (30, Some("1")));
    answer.assert_error(429, "rate_limited");
    // One limit for all routes.
    let head = format!("GET /v1/audit-log HTTP/1.1\r\nHost: g\r\n{peer}\r\n");
    let mut stream = edge.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = Answer::read(&mut stream).await;
    answer.assert_error(401, "invalid_api_key");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    // A valid key is not affected, and neither is another peer.
    let good = format!("{peer}{}", edge.store.bearer(None));
    edge.request("GET", "/v1/sessions/ses_1", &good, b"").await.assert_error(404, "not_found");
    let other = from("192.0.2.2");
    let answer = edge.request("GET", "/v1/sessions/ses_1", &other, b"").await;
    answer.assert_error(401, "invalid_api_key");
    // One more each second.
    edge.clock.advance(1000);
    assert_eq!(until_limited(&edge, "GET", "/v1/sessions/ses_1", &peer).await.0, 1);
}

#[tokio::test]
async fn guesses_of_admin_tokens_are_limited_on_both_routes() {
    for path in ["/v1/admin/metrics", "/metrics"] {
        let edge = Edge::start().await;
        let unknown = TemporaryStore::default().admin_bearer();
        for _ in 0..30 {
            let answer = edge.request("GET", path, &unknown, b"").await;
            answer.assert_error(401, "invalid_admin_token");
        }
        // The client did not ask to close this connection.
        let mut stream = edge.connect().await;
        let head = format!("GET {path} HTTP/1.1\r\nHost: g\r\n{unknown}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = Answer::read(&mut stream).await;
        answer.assert_error(401, "invalid_admin_token");
        assert_eq!(answer.header("connection"), Some("close"), "{path}");
        let answer = edge.request("GET", path, &edge.store.admin_bearer(), b"").await;
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn x_forwarded_for_of_a_stranger_has_no_effect() {
    for (settings, forged) in [
        // No proxy is trusted.
        (&[][..], (|n| format!("10.0.0.{n}")) as fn(usize) -> String),
        // The proxy is trusted, but everything left of its own entry may be forged by the client.
        (&[("trusted_proxies", "127.0.0.0/8")], |n| format!("10.0.0.{n}, 198.51.100.7")),
        (&[("trusted_proxies", "127.0.0.0/8")], |n| format!("10.0.0.{n}, nonsense")),
    ] {
        let edge = Edge::with(HttpLimits::default(), settings).await;
        let mut statuses = Vec::new();
        for n in 0..31 {
            let headers = from(&forged(n));
            let answer = edge.request("GET", "/v1/sessions/ses_1", &headers, b"").await;
            statuses.push(answer.status());
        }
        assert_eq!(statuses.pop(), Some(429));
        assert!(statuses.iter().all(|status| *status == 401), "{statuses:?}");
    }
}

#[tokio::test]
async fn limits_can_be_switched_off() {
    let edge = Edge::with(HttpLimits::default(), &[("rate_limits", "off")]).await;
    let test = edge.store.test_bearer();
    for _ in 0..60 {
        edge.get("/v1/sessions/ses_1").await.assert_error(401, "invalid_api_key");
        let answer = edge.request("GET", "/v1/sessions/ses_1", &test, b"").await;
        answer.assert_error(404, "not_found");
    }
}

#[tokio::test]
async fn the_limit_is_checked_after_the_scope_and_before_the_body() {
    let edge = Edge::start().await;
    let bearer = edge.store.test_bearer();
    let (_, _) = until_limited(&edge, "POST", "/v1/sessions", &bearer).await;
    let body = vec![b'x'; 100_000];
    let answer = edge.request("POST", "/v1/sessions", &bearer, &body).await;
    answer.assert_error(429, "rate_limited");
    let reader = edge.store.bearer(Some(&["session:read"]));
    let answer = edge.request("POST", "/v1/sessions", &reader, &body).await;
    answer.assert_error(403, "insufficient_scope");
}
