//! API keys at the edge.

use super::*;

const SESSION: &str = "/v1/sessions/ses_1";

#[tokio::test]
async fn every_bad_key_gets_the_same_401() {
    let edge = Edge::start().await;
    let good = edge.store.bearer(None);
    let mut last = char::from(good.trim_end().bytes().last().unwrap());
    last = if last == 'a' { 'b' } else { 'a' };
    let unknown = TemporaryStore::default().bearer(None);
    let mistyped = format!("{}{last}\r\n", &good[..good.len() - 3]);
    let basic = good.replace("Bearer", "Basic");
    let mut bodies = Vec::new();
    for headers in [
        "",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer sk_live_short\r\n",
        "Authorization: \u{7f}\r\n",
        &unknown,
        &mistyped,
        &basic,
        &format!("{good}{good}"),
        &format!("{good}Authorization: Basic eDp5\r\n"),
    ] {
        let answer = edge.request("GET", SESSION, headers, b"").await;
        if answer.status() == 400 {
            // Not HTTP at all: refused before any route.
            assert!(headers.contains('\u{7f}'));
            continue;
        }
        answer.assert_error(401, "invalid_api_key");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{headers}");
        bodies.push(answer.body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn a_good_key_reaches_the_object() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    edge.request("GET", SESSION, &bearer, b"").await.assert_error(404, "not_found");
    edge.request("DELETE", SESSION, &bearer, b"").await.assert_error(404, "not_found");
    let lower = bearer.replace("Bearer", "bearer");
    edge.request("GET", SESSION, &lower, b"").await.assert_error(404, "not_found");
}

#[tokio::test]
async fn each_endpoint_wants_its_scope() {
    let edge = Edge::start().await;
    let create = edge.store.bearer(Some(&["session:create"]));
    let read = edge.store.bearer(Some(&["session:read"]));
    edge.request("GET", SESSION, &read, b"").await.assert_error(404, "not_found");
    edge.request("GET", SESSION, &create, b"").await.assert_error(403, "insufficient_scope");
    edge.request("DELETE", SESSION, &create, b"").await.assert_error(404, "not_found");
    edge.request("DELETE", SESSION, &read, b"").await.assert_error(403, "insufficient_scope");
    edge.request("POST", "/v1/sessions", &create, b"").await.assert_error(400, "invalid_request");
    edge.request("POST", "/v1/sessions", &read, b"").await.assert_error(403, "insufficient_scope");
}

#[tokio::test]
async fn the_key_is_judged_before_the_body() {
    let edge = Edge::start().await;
    let read = edge.store.bearer(Some(&["session:read"]));
    let body = vec![b'x'; 100_000];
    let answer = edge.request("POST", "/v1/sessions", "", &body).await;
    answer.assert_error(401, "invalid_api_key");
    assert_eq!(answer.header("connection"), Some("close"));
    let answer = edge.request("POST", "/v1/sessions", &read, &body).await;
    answer.assert_error(403, "insufficient_scope");
}
