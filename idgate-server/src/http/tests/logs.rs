//! The content of the log: one line for each request, and nothing that a peer sent.

use std::io;
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl io::Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// The test's runtime has one thread, so a guard on it catches the lines of every task.
#[tokio::test]
async fn no_line_holds_what_a_peer_sent() {
    let capture = Capture::default();
    let writer = capture.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .json()
        .with_writer(move || writer.clone())
        .finish();
    // With a single subscriber, a callsite first hit by another test's thread would be cached as
    // disabled.
    let _other = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let guard = tracing::subscriber::set_default(subscriber);
    let edge = Edge::start().await;
    let bearer = edge.store.bearer(None);
    let json = "Content-Type: application/json\r\n";
    let with_key = format!("{bearer}{json}X-Forwarded-For: SENTINEL\r\nCookie: SENTINEL\r\n");
    let body = br#"{"state":"SENTINEL","vp_token":"SENTINEL","presentation_submission":{}}"#;
    let wrong_key = "Authorization: Bearer sk_live_SENTINEL\r\n";
    edge.get("/SENTINEL?SENTINEL=SENTINEL").await.assert_error(404, "not_found");
    edge.request("SENTINEL", "/healthz", "", b"").await.assert_error(405, "method_not_allowed");
    edge.get("/v1/sessions/ses_SENTINEL/open?scheme=SENTINEL").await;
    edge.request("GET", "/v1/sessions/SENTINEL", wrong_key, b"").await;
    edge.request("GET", "/v1/sessions/SENTINEL", &with_key, b"").await;
    edge.request("POST", "/v1/oid4vp/response/SENTINEL", json, body).await;
    let made = edge.create().await;
    edge.get(&format!("{}/open?scheme=haip", made.path())).await;
    edge.read(&made).await;
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let body = format!("error=SENTINEL&state={}", made.parameter("state"));
    let path = format!("/v1/oid4vp/response/{}", made.id);
    edge.request("POST", &path, form, body.as_bytes()).await;
    edge.request("DELETE", &made.path(), &made.bearer, b"").await;
    let refused = edge.create().await;
    let body = format!(
        "vp_token=SENTINEL&state={}&presentation_submission=%7B%22id%22%3A%22SENTINEL%22%7D",
        refused.parameter("state")
    );
    let path = format!("/v1/oid4vp/response/{}", refused.id);
    let answer = edge.request("POST", &path, form, body.as_bytes()).await;
    answer.assert_error(400, "invalid_presentation");
    edge.store.set_mood(Mood::Broken);
    edge.get("/v1/sessions/ses_SENTINEL/open").await.assert_error(500, "internal_error");
    drop(guard);

    let bytes = capture.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    let key = bearer.trim_end().rsplit(' ').next().unwrap();
    assert!(!text.contains("SENTINEL"), "{text}");
    assert!(!text.contains(key), "{text}");
    for secret in ["nonce", "state"] {
        assert!(!text.contains(&made.parameter(secret)), "{text}");
        assert!(!text.contains(&refused.parameter(secret)), "{text}");
    }
    assert!(!text.contains("given_name"), "{text}");
    assert!(text.contains(r#""message":"refused""#), "{text}");
    let requests: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line["fields"]["message"] == "request")
        .collect();
    assert_eq!(requests.len(), 14, "{text}");
    let read = &requests[4]["fields"];
    assert_eq!(read["route"], "/v1/sessions/{id}");
    assert_eq!(read["status"], 404);
    assert_eq!(read["error"], "not_found");
    assert_eq!(read["client_id"], edge.store.caller().client_id.as_str());
    assert!(read["key_id"].as_str().unwrap().starts_with("key_"));
    assert_eq!(read["livemode"], true);
    assert_eq!(read["peer"], "127.0.0.0/24");
    assert_eq!(requests[13]["level"], "ERROR");
    assert_eq!(requests[13]["fields"]["cause"], "broken");
}
