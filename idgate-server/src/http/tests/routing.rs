//! Paths, methods, queries, health.

use super::*;

#[tokio::test]
async fn an_unknown_path_is_404() {
    let edge = Edge::start().await;
    for path in ["/", "/v1", "/v1/sessions/", "/v1/sessions/ses_%31", "/healthz/", "/v2/sessions"] {
        edge.get(path).await.assert_error(404, "not_found");
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let edge = Edge::start().await;
    for (method, path, allow) in [
        ("GET", "/v1/sessions", "POST"),
        ("OPTIONS", "/v1/sessions", "POST"),
        ("POST", "/v1/sessions/ses_1", "GET, HEAD, DELETE"),
        ("PUT", "/v1/sessions/ses_1/open", "GET, HEAD"),
        ("GET", "/v1/oid4vp/response/ses_1", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("DELETE", "/readyz", "GET, HEAD"),
        ("BREW", "/readyz", "GET, HEAD"),
    ] {
        let answer = edge.request(method, path, "", b"").await;
        answer.assert_error(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn the_path_is_judged_before_the_method_and_both_before_the_key() {
    let edge = Edge::start().await;
    edge.request("PUT", "/v1/nothing", "", b"").await.assert_error(404, "not_found");
    edge.request("PUT", "/v1/sessions", "", b"").await.assert_error(405, "method_not_allowed");
    edge.request("POST", "/v1/sessions", "", b"").await.assert_error(401, "invalid_api_key");
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let edge = Edge::start().await;
    let (get, head) = (edge.get("/healthz").await, edge.request("HEAD", "/healthz", "", b"").await);
    assert_eq!((get.status(), get.body.as_str()), (200, r#"{"alive":true}"#));
    assert_eq!((head.status(), head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    head.assert_common_headers();
}

#[tokio::test]
async fn a_repeated_query_parameter_is_400_and_an_unknown_one_is_ignored() {
    let edge = Edge::start().await;
    let open = async |query: &str| edge.get(&format!("/v1/sessions/ses_1/open{query}")).await;
    open("?scheme=haip&scheme=haip").await.assert_error(400, "invalid_request");
    open("?scheme=other").await.assert_error(404, "not_found");
    open("?scheme=").await.assert_error(404, "not_found");
    open("?utm=1&utm=2").await.assert_error(404, "not_found");
    let head = edge.request("HEAD", "/v1/sessions/ses_1/open", "", b"").await;
    assert_eq!(head.status(), 404);
}

#[tokio::test]
async fn ready_says_which_part_is_not() {
    let edge = Edge::start().await;
    let ready = edge.get("/readyz").await;
    let body = r#"{"ready":true,"store":true,"trust":true,"accepting":true,"tasks":true}"#;
    assert_eq!((ready.status(), ready.body.as_str()), (200, body));
    edge.store.set_mood(Mood::Busy);
    // What was stored a moment ago still counts.
    until("it is not ready", async || edge.get("/readyz").await.status() != 200).await;
    let ready = edge.get("/readyz").await;
    let body = r#"{"ready":false,"store":false,"trust":true,"accepting":true,"tasks":true}"#;
    assert_eq!((ready.status(), ready.body.as_str()), (503, body));
}

#[tokio::test]
async fn tasks_that_panic_go_on_and_too_often_is_not_ready() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    // The sweeper reads the sessions that are due.
    edge.store.set_mood(Mood::Panicking);
    until("it is not ready", async || edge.get("/readyz").await.status() != 200).await;
    let ready = edge.get("/readyz").await;
    let body = r#"{"ready":false,"store":true,"trust":true,"accepting":true,"tasks":false}"#;
    assert_eq!((ready.status(), ready.body.as_str()), (503, body));
    let metrics = edge.request("GET", "/metrics", &edge.store.admin_bearer(), b"").await;
    let restarts = r#"idgate_task_restarts_total{task="sweeper_expire"} "#;
    let line = metrics.body.lines().find_map(|line| line.strip_prefix(restarts));
    assert!(line.unwrap().parse::<u32>().unwrap() >= 3, "{line:?}");
    // And what it is there for is done once it can be.
    edge.store.set_mood(Mood::Well);
    edge.clock.advance(300_000);
    until("it expires", async || edge.store.sessions()[0].settled_at().is_some()).await;
    assert_eq!(edge.read(&made).await["status"], "EXPIRED");
}

#[tokio::test]
async fn a_panic_is_a_500_and_nothing_more() {
    let edge = Edge::start().await;
    edge.store.set_mood(Mood::Panicking);
    let answer = edge.get("/v1/sessions/ses_1/open").await;
    answer.assert_error(500, "internal_error");
    assert!(!answer.body.contains("purpose"));
    edge.store.set_mood(Mood::Well);
    assert_eq!(edge.get("/healthz").await.status(), 200);
}

#[tokio::test]
async fn a_broken_store_is_a_500_without_its_cause() {
    let edge = Edge::start().await;
    edge.store.set_mood(Mood::Broken);
    let answer = edge.get("/v1/sessions/ses_1/open").await;
    answer.assert_error(500, "internal_error");
    assert!(!answer.body.contains("broken"));
}

#[tokio::test]
async fn a_full_queue_sheds_load() {
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    edge.store.set_mood(Mood::Busy);
    let answer = edge.request("DELETE", "/v1/sessions/ses_1", &bearer, b"").await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
}
