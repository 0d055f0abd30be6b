//! API keys in requests.

use super::*;

const SESSION: &str = "/v1/sessions/ses_1";

#[tokio::test]
async fn every_bad_key_gets_the_same_401() {
    let edge = Edge::start().await;
    let good = edge.store.bearer(None);
    let key = good.trim_end().rsplit(' ').next().unwrap();
    let unknown = TemporaryStore::default().bearer(None);
    let other = if key.ends_with('a') { "b" } else { "a" };
    let in_query = format!("{SESSION}?api_key={key}&access_token={key}");
    let mut answers = Vec::new();
    for (path, headers) in [
        (SESSION, String::new()),
        (SESSION, authorization("")),
        (SESSION, authorization("Bearer")),
        (SESSION, authorization("Bearer ")),
        (SESSION, authorization(key)),
        (SESSION, authorization(&format!("Basic {key}"))),
        (SESSION, authorization(&format!("Bearer {key}x"))),
        (SESSION, authorization(&format!("Bearer {}", &key[..key.len() - 1]))),
        (SESSION, authorization(&format!("Bearer {}{other}", &key[..key.len() - 1]))),
        (SESSION, authorization(&format!("Bearer {}", key.to_uppercase()))),
        (SESSION, authorization(&format!("Bearer {}", key.replace("sk_live_", "sk_test_")))),
        (SESSION, authorization(&format!("Bearer {key} {key}"))),
        (SESSION, authorization(&format!("Bearer \"{key}\""))),
        (SESSION, authorization(&format!("Bearer {}", "k".repeat(8000)))),
        (SESSION, authorization("Bearer ' OR 1=1 --")),
        (SESSION, authorization("Bearer sk_live_short")),
        (SESSION, unknown),
        (SESSION, good.repeat(2)),
        (SESSION, format!("{good}Authorization: Basic eDp5\r\n")),
        (&in_query, String::new()),
    ] {
        let answer = edge.request("GET", path, &headers, b"").await;
        answer.assert_error(401, "invalid_api_key");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{headers}");
        let names = answer.head.lines().skip(1).map(|line| line.split(':').next().unwrap());
        answers.push((names.map(str::to_owned).collect::<Vec<_>>(), answer.body.clone()));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // Not valid HTTP, so it is refused before any route.
    let answer = edge.request("GET", SESSION, &authorization("\u{7f}"), b"").await;
    assert_eq!(answer.status(), 400);
}

fn authorization(value: &str) -> String {
    format!("Authorization: {value}\r\n")
}

#[tokio::test]
async fn a_valid_key_reaches_the_object() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    edge.request("GET", SESSION, &bearer, b"").await.assert_error(404, "not_found");
    edge.request("DELETE", SESSION, &bearer, b"").await.assert_error(404, "not_found");
    let lower = bearer.replace("Bearer", "bearer");
    edge.request("GET", SESSION, &lower, b"").await.assert_error(404, "not_found");
}

#[tokio::test]
async fn each_endpoint_requires_its_scope() {
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
async fn the_key_is_checked_before_the_body() {
    let edge = Edge::start().await;
    let read = edge.store.bearer(Some(&["session:read"]));
    let body = vec![b'x'; 100_000];
    let answer = edge.request("POST", "/v1/sessions", "", &body).await;
    answer.assert_error(401, "invalid_api_key");
    assert_eq!(answer.header("connection"), Some("close"));
    let answer = edge.request("POST", "/v1/sessions", &read, &body).await;
    answer.assert_error(403, "insufficient_scope");
}
