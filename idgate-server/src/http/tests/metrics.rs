//! `GET /v1/admin/metrics`: authorization, parameters, and failures.

use serde_json::json;

use super::*;

const PATH: &str = "/v1/admin/metrics";

#[tokio::test]
async fn the_token_is_checked_before_the_window() {
    let edge = Edge::start().await;
    let key = edge.store.bearer(None);
    let admin = edge.store.admin_bearer();
    let bad = format!("{PATH}?window_hours=0");
    for headers in ["", "Authorization: Bearer adm_x\r\n", &key] {
        let answer = edge.request("GET", &bad, headers, b"").await;
        answer.assert_error(401, "invalid_admin_token");
        let answer = edge.request("GET", "/metrics", headers, b"").await;
        assert_eq!(answer.status(), 401);
    }
    for window in ["0", "721", "-1", "", "1.5", "x"] {
        let path = format!("{PATH}?window_hours={window}");
        let answer = edge.request("GET", &path, &admin, b"").await;
        answer.assert_error(400, "invalid_limit");
    }
    let twice = format!("{PATH}?window_hours=1&window_hours=1");
    assert_eq!(edge.request("GET", &twice, &admin, b"").await.status(), 400);
    for (query, hours) in [("", 24), ("?window_hours=1", 1), ("?window_hours=720", 720)] {
        let answer = edge.request("GET", &format!("{PATH}{query}"), &admin, b"").await;
        let want = json!({
            "window_hours": hours,
            "total_estimated": 0, "verified_estimated": 0, "failed_estimated": 0,
            "success_rate": 0.0,
            "latency_ms_p50": null, "latency_ms_p95": null,
            "processing_latency_ms_p50": null, "processing_latency_ms_p95": null,
            "by_credential_type": [], "by_error_code": [],
        });
        assert_eq!((answer.status(), answer.json()), (200, want));
    }
}

#[tokio::test]
async fn failing_late_or_panicking_metrics_are_502_and_never_500() {
    let metrics_timeout = Duration::from_millis(100);
    let edge = Edge::with(HttpLimits { metrics_timeout, ..HttpLimits::default() }, &[]).await;
    let admin = edge.store.admin_bearer();
    for mood in [Mood::Broken, Mood::Stuck, Mood::Panicking] {
        edge.store.set_mood(mood);
        let answer = edge.request("GET", PATH, &admin, b"").await;
        answer.assert_error(502, "metrics_unavailable");
        assert_eq!(edge.request("GET", PATH, "", b"").await.status(), 401);
    }
    edge.store.set_mood(Mood::Well);
    assert_eq!(edge.request("GET", PATH, &admin, b"").await.status(), 200);
}
