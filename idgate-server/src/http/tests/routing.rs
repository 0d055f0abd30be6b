//! Paths, methods, queries, health.

use super::*;

#[tokio::test]
async fn a_path_in_another_spelling_is_404() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let id = &made.id;
    let encoded = id.replacen("ses_", "ses%5F", 1);
    for path in [
        "/".to_owned(),
        "/v1".into(),
        "/v2/sessions".into(),
        "/V1/sessions".into(),
        "//v1/sessions".into(),
        "/v1//sessions".into(),
        "/v1/./sessions".into(),
        "/v1/sessions/".into(),
        "/healthz/".into(),
        "/v1/sess%69ons".into(),
        format!("/v1/sessions/{id}/"),
        format!("/v1/sessions/{encoded}"),
        format!("/v1/sessions/{encoded}/open"),
        format!("/v1/sessions/{id}%2Fopen"),
        format!("/v1/sessions/{id}%00"),
        format!("/v1/sessions/{id}/open/x"),
        format!("/v1/sessions/x/../{id}"),
        format!("/v1/oid4vp/response/{encoded}"),
        format!("/v1/oid4vp/response/{id}/"),
    ] {
        for method in ["GET", "POST"] {
            let answer = edge.request(method, &path, &made.bearer, b"").await;
            answer.assert_error(404, "not_found");
        }
    }
    for other in [id.to_uppercase(), id[..id.len() - 1].into()] {
        let path = format!("/v1/sessions/{other}");
        edge.request("GET", &path, &made.bearer, b"").await.assert_error(404, "not_found");
    }
    let path = format!("{}?verbose=1&verbose=2", made.path());
    assert_eq!(edge.request("GET", &path, &made.bearer, b"").await.status(), 200);
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let settings = [("profiles", "draft,1.0"), ("page", "on"), ("dc_api", "unsigned")];
    let edge = Edge::with(HttpLimits::default(), &settings).await;
    let mut methods_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (method, template) in crate::http::routes() {
        methods_of.entry(template).or_default().push(method);
    }
    for (template, methods) in methods_of {
        let get = if template.ends_with("/ws") { "GET" } else { "GET, HEAD" };
        let allowed = methods.join(", ").replace("GET", get);
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if methods.contains(&method) {
                continue;
            }
            let answer = edge.request(method, &template.replace("{id}", "ses_1"), "", b"").await;
            answer.assert_error(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some(&*allowed), "{method} {template}");
        }
    }
}

#[tokio::test]
async fn the_path_is_checked_before_the_method_and_both_before_the_key() {
    let edge = Edge::start().await;
    edge.request("PUT", "/v1/nothing", "", b"").await.assert_error(404, "not_found");
    edge.request("PUT", "/v1/sessions", "", b"").await.assert_error(405, "method_not_allowed");
    edge.request("POST", "/v1/sessions", "", b"").await.assert_error(401, "invalid_api_key");
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let open = format!("{}/open", made.path());
    for path in ["/healthz", &made.path(), &open, "/v1/sessions/ses_1", "/nothing"] {
        let get = edge.request("GET", path, &made.bearer, b"").await;
        let head = edge.request("HEAD", path, &made.bearer, b"").await;
        assert_eq!((head.status(), head.body.as_str()), (get.status(), ""), "{path}");
        for same in ["content-type", "location", "cache-control"] {
            assert_eq!(head.header(same), get.header(same), "{path} {same}");
        }
        head.assert_common_headers();
    }
    let (get, head) = (edge.get("/healthz").await, edge.request("HEAD", "/healthz", "", b"").await);
    assert_eq!(get.body, r#"{"alive":true}"#);
    assert_eq!(head.header("content-length"), get.header("content-length"));
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
async fn readyz_names_the_check_that_fails() {
    let edge = Edge::start().await;
    let ready = edge.get("/readyz").await;
    let body = r#"{"ready":true,"store":true,"trust":true,"accepting":true,"tasks":true}"#;
    assert_eq!((ready.status(), ready.body.as_str()), (200, body));
    edge.store.set_mood(Mood::Busy);
    // Health stored a moment ago still counts.
    until("it is not ready", async || edge.get("/readyz").await.status() != 200).await;
    let ready = edge.get("/readyz").await;
    let body = r#"{"ready":false,"store":false,"trust":true,"accepting":true,"tasks":true}"#;
    assert_eq!((ready.status(), ready.body.as_str()), (503, body));
}

#[tokio::test]
async fn tasks_that_panic_are_restarted_and_frequent_panics_make_the_gateway_not_ready() {
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
    // The duty is done once the store works again.
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
