//! Sessions from creation to deletion.

use super::*;
use crate::http::admission::turns::Kind;
use crate::limits::READS_PER_CLIENT;

#[tokio::test]
async fn a_creation_answers_with_id_and_links() {
    let edge = Edge::start().await;
    let headers = format!("{}Content-Type: application/json\r\n", edge.store.bearer(None));
    let body = br#"{"issuer_id":"issuer","ttl_ms":60000}"#;
    let answer = edge.request("POST", "/v1/sessions", &headers, body).await;
    assert_eq!(answer.status(), 201);
    answer.assert_common_headers();
    let value = answer.json();
    assert_eq!(value.as_object().unwrap().len(), 5);
    assert!(value["session_id"].as_str().unwrap().starts_with("ses_"));
    assert_eq!(value["livemode"], true);
    assert_eq!(value["expires_at"], NOW.plus(60_000).to_string());
    assert_eq!(value["deep_links"]["openid4vp"], value["qr_code_url"]);
    for (key, scheme) in
        [("openid4vp", "openid4vp"), ("eudi-wallet", "eudi-openid4vp"), ("haip", "haip-vp")]
    {
        let link = value["deep_links"][key].as_str().unwrap();
        assert!(link.starts_with(&format!("{scheme}://")), "{link}");
    }
    assert_eq!(value["deep_links"].as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn a_bad_creation_is_400_with_its_code() {
    let edge = Edge::start().await;
    let headers = format!("{}Content-Type: application/json\r\n", edge.store.bearer(None));
    for (body, code) in [
        ("{", "invalid_json"),
        ("{}", "invalid_request"),
        (r#"{"issuer_id":"issuer","extra":1}"#, "unknown_field"),
        (r#"{"issuer_id":"nobody"}"#, "unknown_issuer"),
    ] {
        let answer = edge.request("POST", "/v1/sessions", &headers, body.as_bytes()).await;
        answer.assert_error(400, code);
    }
}

#[tokio::test]
async fn an_open_session_reads_without_result_and_reason() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let want = serde_json::json!({
        "session_id": made.id, "status": "PENDING", "livemode": true,
        "expires_at": NOW.plus(300_000).to_string(),
    });
    assert_eq!(edge.read(&made).await, want);
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_a_500_behind_every_check_of_the_route() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    edge.store.damage_sessions();
    let answer = edge.request("GET", &made.path(), &made.bearer, b"").await;
    answer.assert_error(500, "internal_error");
    assert!(answer.header("ratelimit").is_some() && answer.header("ratelimit-policy").is_some());
    let lacking = edge.store.bearer(Some(&["session:create"]));
    let answer = edge.request("GET", &made.path(), &lacking, b"").await;
    answer.assert_error(403, "insufficient_scope");
    let answer = edge.request("GET", &made.path(), "", b"").await;
    answer.assert_error(401, "invalid_api_key");
}

#[tokio::test]
async fn a_session_deleted_while_a_request_waited_for_its_turn_is_not_shown() {
    let edge = Arc::new(Edge::start().await);
    let made = Arc::new(edge.create().await);
    // Lists take all of the client's read places, and no write places.
    let lists = edge.store.hold_lists();
    let ask = |path: String| {
        let (edge, bearer) = (edge.clone(), made.bearer.clone());
        tokio::spawn(async move { edge.request("GET", &path, &bearer, b"").await })
    };
    let listing: Vec<_> = (0..READS_PER_CLIENT).map(|_| ask("/v1/audit-log".into())).collect();
    let reads = async |taken, waiting| {
        let count = async || edge.gateway().turns.count(Kind::Reading) == (taken, waiting);
        until("requests have their places, or wait for one", count).await;
    };
    reads(READS_PER_CLIENT, 0).await;
    let reading = ask(made.path());
    reads(READS_PER_CLIENT, 1).await;
    let deleted = edge.request("DELETE", &made.path(), &made.bearer, b"").await;
    assert_eq!(deleted.status(), 204);
    drop(lists);
    reading.await.unwrap().assert_error(404, "not_found");
    for list in listing {
        assert_eq!(list.await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn expiry_is_decided_by_the_clock() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    edge.clock.advance(299_999);
    assert_eq!(edge.read(&made).await["status"], "PENDING");
    edge.clock.advance(1);
    let read = edge.read(&made).await;
    assert_eq!((&read["status"], &read["reason"]), (&"EXPIRED".into(), &"session_expired".into()));
    edge.get(&format!("{}/open", made.path())).await.assert_error(404, "not_found");
}

#[tokio::test]
async fn open_redirects_to_the_requested_scheme() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    for (query, scheme) in [
        ("", "openid4vp"),
        ("?scheme=openid4vp", "openid4vp"),
        ("?scheme=eudi-wallet&x=1", "eudi-openid4vp"),
        ("?scheme=haip", "haip-vp"),
    ] {
        for method in ["GET", "HEAD"] {
            let path = format!("{}/open{query}", made.path());
            let answer = edge.request(method, &path, "", b"").await;
            assert_eq!((answer.status(), answer.body.as_str()), (302, ""));
            let (_, request) = made.qr_code_url.split_once("://").unwrap();
            assert_eq!(answer.header("location"), Some(&*format!("{scheme}://{request}")));
            answer.assert_common_headers();
        }
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_in_every_state() {
    let edge = Edge::start().await;
    let (pending, failed, expired) =
        (edge.create().await, edge.create().await, edge.create().await);
    assert_eq!(edge.decline(&failed).await.status(), 200);
    for (made, state) in [(pending, "PENDING"), (failed, "FAILED"), (expired, "EXPIRED")] {
        if state == "EXPIRED" {
            edge.clock.advance(300_000);
        }
        assert_eq!(edge.read(&made).await["status"], state);
        let answer = edge.request("DELETE", &made.path(), &made.bearer, b"").await;
        assert_eq!((answer.status(), answer.body.as_str()), (204, ""));
        answer.assert_common_headers();
        for method in ["GET", "DELETE"] {
            let answer = edge.request(method, &made.path(), &made.bearer, b"").await;
            answer.assert_error(404, "not_found");
        }
        edge.get(&format!("{}/open", made.path())).await.assert_error(404, "not_found");
        edge.decline(&made).await.assert_error(409, "session_not_pending");
    }
}
