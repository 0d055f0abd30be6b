//! The response endpoint without the verdict itself: transport, races, closed sessions.

use super::*;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl Edge {
    async fn respond(&self, id: &str, pairs: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.request("POST", &format!("/v1/oid4vp/response/{id}"), FORM, body.as_bytes()).await
    }

    /// The wallet reports that its user declined.
    pub(super) async fn decline(&self, made: &Made) -> Answer {
        let state = made.parameter("state");
        self.respond(&made.id, &[("error", "access_denied"), ("state", &state)]).await
    }
}

#[tokio::test]
async fn a_wallet_error_is_recorded_once() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let answer = edge.decline(&made).await;
    assert_eq!((answer.status(), answer.body.as_str()), (200, r#"{"status":"ok"}"#));
    answer.assert_common_headers();
    let read = edge.read(&made).await;
    assert_eq!((&read["status"], &read["reason"]), (&"FAILED".into(), &"wallet_error".into()));
    edge.decline(&made).await.assert_error(409, "session_not_pending");
}

#[tokio::test]
async fn a_wrong_state_changes_nothing() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let answer = edge.respond(&made.id, &[("error", "access_denied"), ("state", "other")]).await;
    answer.assert_error(400, "state_mismatch");
    assert_eq!(edge.read(&made).await["status"], "PENDING");
}

#[tokio::test]
async fn a_malformed_answer_changes_nothing() {
    let edge = Edge::start().await;
    for (headers, body) in [
        ("", "x=y"),
        ("Content-Type: text/plain\r\n", "x=y"),
        (&*FORM.repeat(2), "x=y"),
        (FORM, "state=1"),
        (FORM, "error=access_denied&error_description=no"),
        (FORM, "error=access_denied&state=1\r\n"),
        ("Content-Type: application/json\r\n", "{"),
    ] {
        let made = edge.create().await;
        let path = format!("/v1/oid4vp/response/{}", made.id);
        let answer = edge.request("POST", &path, headers, body.as_bytes()).await;
        answer.assert_error(400, "invalid_response");
        assert_eq!(edge.read(&made).await["status"], "PENDING");
    }
}

#[tokio::test]
async fn a_refused_presentation_fails_the_session_and_says_no_more() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let state = made.parameter("state");
    let large = "x".repeat(70 * 1024);
    let submission = r#"{"id":"1","definition_id":"1","descriptor_map":[]}"#;
    let pairs =
        [("state", &*state), ("vp_token", &*large), ("presentation_submission", submission)];
    let answer = edge.respond(&made.id, &pairs).await;
    answer.assert_error(400, "invalid_presentation");
    let read = edge.read(&made).await;
    assert_eq!(read["status"], "FAILED");
    assert!(!answer.body.contains(read["reason"].as_str().unwrap()));
    edge.decline(&made).await.assert_error(409, "session_not_pending");
    assert_eq!(edge.read(&made).await, read);
}

#[tokio::test]
async fn an_expired_deleted_or_unknown_session_is_409() {
    let edge = Edge::start().await;
    let (expired, deleted) = (edge.create().await, edge.create().await);
    edge.request("DELETE", &deleted.path(), &deleted.bearer, b"").await;
    edge.decline(&deleted).await.assert_error(409, "session_not_pending");
    edge.clock.advance(300_000);
    edge.decline(&expired).await.assert_error(409, "session_not_pending");
    let unknown = Made { id: "ses_unknown".into(), ..expired };
    edge.decline(&unknown).await.assert_error(409, "session_not_pending");
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_stored() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    edge.store.set_mood(Mood::Busy);
    let answer = edge.decline(&made).await;
    answer.assert_error(503, "temporarily_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    edge.store.set_mood(Mood::Well);
    assert_eq!(edge.decline(&made).await.status(), 200);
}
