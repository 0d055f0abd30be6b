//! Fetching a request when the store or the clock interferes: nothing is returned that is not
//! stored, and nothing after the session's end.

use super::*;

async fn jar() -> Edge {
    Edge::with(HttpLimits::default(), &[("oid4vp_request_mode", "jar")]).await
}

fn path(made: &Made) -> String {
    format!("/v1/oid4vp/request/{}", made.id)
}

#[tokio::test]
async fn a_fetch_that_cannot_be_stored_returns_nothing() {
    let edge = jar().await;
    let made = edge.create().await;
    edge.store.set_mood(Mood::Busy);
    edge.get(&path(&made)).await.assert_error(503, "temporarily_unavailable");
    edge.store.set_mood(Mood::Broken);
    edge.get(&path(&made)).await.assert_error(500, "internal_error");
    edge.store.set_mood(Mood::Well);
    assert_eq!(edge.read(&made).await["status"], "CREATED");
    assert_eq!(edge.get(&path(&made)).await.status(), 200);
    // The session is PENDING already, so there is nothing to store.
    edge.store.set_mood(Mood::Busy);
    assert_eq!(edge.get(&path(&made)).await.status(), 200);
}

#[tokio::test]
async fn an_expired_session_has_no_request() {
    let edge = jar().await;
    let [fetched, untouched] = [edge.create().await, edge.create().await];
    assert_eq!(edge.get(&path(&fetched)).await.status(), 200);
    edge.clock.advance(299_999);
    assert_eq!(edge.get(&path(&fetched)).await.status(), 200);
    edge.clock.advance(1);
    for made in [&fetched, &untouched] {
        edge.get(&path(made)).await.assert_error(404, "not_found");
        assert_eq!(edge.request("HEAD", &path(made), "", b"").await.status(), 404);
        assert_eq!(edge.read(made).await["status"], "EXPIRED");
    }
}

#[tokio::test]
async fn discovery_documents_do_not_depend_on_the_writer() {
    let edge = jar().await;
    edge.store.set_mood(Mood::Busy);
    for document in ["/.well-known/jwks.json", "/.well-known/did.json"] {
        let answer = edge.get(document).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    }
}
