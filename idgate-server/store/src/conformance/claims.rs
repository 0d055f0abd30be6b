//! Results and secrets are sealed, shown only to their owner, and removed in time.

use idgate_core::Reader;

use super::*;

const CLAIMS: &str = r#"{"given_name":"SENTINEL"}"#;

impl<B: Backend> Fixture<B> {
    /// Whether the caller reads the claims of `session` at `now`.
    fn shows(&self, session: &Session, now: UnixMillis) -> bool {
        let read = self.read(session, now).unwrap();
        let claims =
            read.result(Reader::Backend, now).ok().map(|result| result.claims_json().to_owned());
        claims.inspect(|claims| assert_eq!(claims, CLAIMS)).is_some()
    }
}

pub(super) async fn a_result_is_readable_for_30_seconds_by_its_owner_only<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW, CLAIMS).await;
    assert!(
        fixture.shows(&session, NOW.plus(29_999)) && !fixture.shows(&session, NOW.plus(30_000))
    );
    let store = fixture.store();
    assert!(
        store
            .session(session.id())
            .await
            .unwrap()
            .unwrap()
            .result(Reader::Backend, NOW)
            .ok()
            .is_none()
    );
    let other = fixture.other_client();
    assert!(store.callers_session(&other, session.id(), NOW).await.unwrap().is_none());
}

pub(super) async fn results_are_removed_when_they_are_due<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let mut due = Vec::new();
    for n in 0..20 {
        due.push(fixture.verified(&fixture.live, NOW.plus(n), CLAIMS).await);
    }
    let kept = fixture.verified(&fixture.live, NOW.plus(500), CLAIMS).await;
    let now = NOW.plus(30_100);
    let (first, second) = (fixture.store().purge_results(now), fixture.store().purge_results(now));
    assert_eq!(first.await.unwrap() + second.await.unwrap(), 20);
    assert_eq!(fixture.store().gauges(now).await.unwrap().claims_rows, 1);
    assert!(due.iter().all(|session| !fixture.shows(session, NOW)));
    assert!(fixture.shows(&kept, NOW.plus(500)));
}

pub(super) async fn deleting_a_session_removes_its_result<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW, CLAIMS).await;
    let delete = || fixture.store().delete_session(&fixture.live, session.id(), NOW);
    let (first, second) = (delete(), delete());
    assert!(first.await.unwrap() && !second.await.unwrap());
    assert!(fixture.read(&session, NOW).is_none());
    assert_eq!(fixture.store().gauges(NOW).await.unwrap().claims_rows, 0);
}

pub(super) async fn a_result_due_implausibly_late_is_erased_and_never_read<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW, CLAIMS).await;
    // The clock is set back by an hour.
    let then = NOW.minus(3_600_000);
    assert!(fixture.shows(&session, NOW) && !fixture.shows(&session, then));
    assert_eq!(fixture.store().purge_results(NOW.minus(1000)).await.unwrap(), 0, "a moment ago");
    assert_eq!(fixture.store().purge_results(then).await.unwrap(), 1);
    assert!(!fixture.shows(&session, NOW));
}

pub(super) async fn results_that_expired_while_stopped_are_erased_at_open<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW, CLAIMS).await;
    fixture.reopen(NOW.plus(30_000));
    assert_eq!(fixture.store().gauges(NOW).await.unwrap().claims_rows, 0);
    assert!(!fixture.shows(&session, NOW));
    let found = fixture.store().session(session.id()).await.unwrap().unwrap();
    assert_eq!(found.status_at(NOW), Status::Verified);
}

pub(super) async fn a_settled_session_has_no_key<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let (session, key) = fixture.jar_session().await;
    let (open, _) = fixture.jar_session().await;
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    let key_of = async |fixture: &Fixture<B>, session: &Session| {
        let mut stored = fixture.store().session(session.id()).await.unwrap().unwrap();
        stored.take_encryption_key().is_some()
    };
    assert!(!key_of(&fixture, &session).await && key_of(&fixture, &open).await);
    fixture.store().purge_results(NOW).await.unwrap();
    fixture.reopen(NOW);
    assert!(!key_of(&fixture, &session).await && key_of(&fixture, &open).await);
    assert!(!fixture.backend.holds(&key[6..30]));
}

pub(super) async fn a_session_key_is_sealed_and_returned_to_the_wallet_routes_only<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (session, key) = fixture.jar_session().await;
    // `{"d":"`, followed by the private number.
    assert!(!fixture.backend.holds(&key[6..30]));
    let mut stored = fixture.store().session(session.id()).wait().unwrap().unwrap();
    assert_eq!(stored.take_encryption_key().unwrap().as_slice(), key);
    let tenants = fixture.store().callers_session(&fixture.live, session.id(), NOW).wait();
    assert!(tenants.unwrap().unwrap().take_encryption_key().is_none());
}

pub(super) async fn no_key_secret_nonce_state_or_claim_is_stored_in_plaintext<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let client = fixture.operator().create_client("third", true, None, NOW).unwrap();
    let session = fixture.session(&fixture.live).await;
    fixture.verified(&fixture.live, NOW, CLAIMS).await;
    let record: serde_json::Value = serde_json::from_slice(&session.to_bytes()).unwrap();
    let nonce = record["offers"][0]["nonce"].as_str().unwrap();
    let state = record["offers"][0]["state"].as_str().unwrap();
    let secrets = [client.api_key.expose(), &client.signing_secret, nonce, state, "SENTINEL"];
    for secret in secrets {
        assert!(!fixture.backend.holds(secret.as_bytes()), "{}", secret.len());
    }
    assert!(fixture.backend.holds(session.id().as_str().as_bytes()), "the search finds what is");
    assert_eq!(session.status_at(NOW), Status::Pending);
}
