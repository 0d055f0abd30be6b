#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod api_keys;
mod audit;
mod audit_retention;
mod audit_tamper;
mod certificates;
mod damage;
mod erasure;
mod first;
mod gateway_keys;
mod idempotency;
mod metrics;
mod session_keys;
mod strangers;
mod upgrade;

use std::path::Path;
use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::SessionId;
use idgate_core::session::{Revision, Session, Status, Transition, VerifiedResult};
use idgate_core::time::UnixMillis;
use idgate_core::{PresentationRequest, Verifier};
use tempfile::TempDir;

use super::sql::millis;
use super::wait::Wait as _;
use super::*;
use crate::api_key::ApiKey;
use crate::config::{Environment, Quotas};
use crate::entropy::OsEntropy;
use crate::seal::InstanceKey;

const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
const JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;

fn options(instance_key: Option<&InstanceKey>) -> StoreOptions<'_> {
    StoreOptions { instance_key, environment: Environment::Development, quotas: Quotas::default() }
}

/// A data directory with a live and a test client and one trusted issuer.
struct Fixture {
    dir: TempDir,
    store: Option<SqliteStore>,
    live: Caller,
    live_key: ApiKey,
    test: Caller,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut operator = OperatorStore::open(dir.path(), None).unwrap();
        let change = TrustChange {
            claims: Some(vec!["given_name".into()]),
            keys: vec![(idgate_core::crypto::Jwk::parse(JWK.as_bytes()).unwrap().key, None)],
            ..TrustChange::default()
        };
        operator.add_trust("issuer", &change, NOW).unwrap().unwrap();
        let live = operator.create_client("live", true, None, NOW).unwrap();
        let test = operator.create_client("test", false, None, NOW).unwrap();
        let store = SqliteStore::open(dir.path(), options(None), NOW).unwrap();
        let caller = |key: &ApiKey| store.authenticate(&key.digest(), NOW).wait().unwrap().unwrap();
        let (live_caller, test_caller) = (caller(&live.api_key), caller(&test.api_key));
        Self {
            live: live_caller,
            live_key: live.api_key,
            test: test_caller,
            dir,
            store: Some(store),
        }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    fn operator(&self) -> OperatorStore {
        OperatorStore::open(self.dir.path(), None).unwrap()
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn close(&mut self) {
        self.store = None;
    }

    fn reopen(&mut self, now: UnixMillis) {
        self.close();
        self.store = Some(SqliteStore::open(self.dir.path(), options(None), now).unwrap());
    }

    /// A stored PENDING session.
    async fn session(&self, caller: &Caller) -> Session {
        let trust = self.store().trust().wait().unwrap();
        let body = br#"{"issuer_id":"issuer"}"#;
        let request = PresentationRequest::parse(body, &trust, caller.livemode).unwrap();
        let verifier = Verifier::builder(PROVIDER).inline("http://localhost").trust(trust).build();
        let transition = verifier
            .unwrap()
            .create_session(request, caller.client_id.clone(), caller.livemode, &mut OsEntropy, NOW)
            .unwrap();
        let session = transition.session.clone();
        assert_eq!(self.store().create_session(caller, transition).await.unwrap(), Made::Yes);
        session
    }

    /// A stored session, verified at `at` with these claims.
    async fn verified(&self, caller: &Caller, at: UnixMillis, claims: &str) -> Session {
        let session = self.session(caller).await;
        let transition = verify(&session, at, claims);
        let verified = transition.session.clone();
        assert_eq!(self.store().commit(transition, Some(7)).await.unwrap(), Committed::Yes);
        verified
    }

    fn events(&self, id: &SessionId) -> Vec<(i64, String)> {
        let main = rusqlite::Connection::open(self.path().join("idgate.db")).unwrap();
        let mut statement = main
            .prepare(
                "SELECT key + 1, value ->> 0 FROM sessions, \
                 json_each('[' || rtrim(events, ',') || ']') WHERE sessions.id = ?1 ORDER BY key",
            )
            .unwrap();
        let rows =
            statement.query_map([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

/// A transition of `session` to VERIFIED, as an answer makes it.
fn verify(session: &Session, at: UnixMillis, claims: &str) -> Transition {
    let mut transition = session.expired(session.expires_at()).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&session.to_snapshot()).unwrap();
    record["phase"] = serde_json::json!({"phase": "verified", "at": at});
    record["revision"] = transition.session.revision().0.into();
    let mut verified = Session::from_snapshot(record.to_string().as_bytes()).unwrap();
    verified.restore_result(result(at, claims));
    assert!(verified.result_at(at).is_some());
    transition.session = verified;
    transition.effects = vec![idgate_core::session::Effect::RedactClaimsAt(at.plus(30_000))];
    transition
}

fn result(at: UnixMillis, claims: &str) -> VerifiedResult {
    let len = u64::try_from(claims.len()).unwrap();
    let parts: [&[u8]; 5] =
        [&[1], &at.0.to_be_bytes(), &len.to_be_bytes(), claims.as_bytes(), b"{\"credentials\":[]}"];
    VerifiedResult::from_snapshot(&parts.concat()).unwrap()
}

#[tokio::test]
async fn of_64_parallel_commits_exactly_one_applies() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let mut yes = 0;
    let commits: Vec<_> = (0..64)
        .map(|n| {
            let transition = verify(&session, NOW.plus(n), &format!("{{\"n\":{n}}}"));
            fixture.store().commit(transition, None)
        })
        .collect();
    for commit in commits {
        yes += usize::from(commit.await.unwrap() == Committed::Yes);
    }
    assert_eq!(yes, 1);
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let rows: i64 = claims.query_row("SELECT count(*) FROM results", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 1);
}

/// A backlog of expiries, as after a night that the gateway was down.
#[tokio::test]
async fn what_the_gateway_settles_by_itself_takes_none_of_a_clients_room() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let (release, held) = std::sync::mpsc::channel::<()>();
    let holding = fixture.store().writer.submit(move |_| {
        let _ = held.recv();
        Ok(())
    });
    let expired = session.expired(session.expires_at()).unwrap();
    let own: Vec<_> = (0..512).map(|_| fixture.store().commit_own(expired.clone())).collect();
    let clients = fixture.store().commit(expired.clone(), None);
    drop(release);
    holding.await.unwrap();
    let mut applied = usize::from(clients.await.unwrap() == Committed::Yes);
    for commit in own {
        applied += usize::from(commit.await.unwrap() == Committed::Yes);
    }
    assert_eq!(applied, 1);
}

#[tokio::test]
async fn a_session_round_trips_and_survives_a_restart_with_its_result() {
    let mut fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, r#"{"given_name":"Ada"}"#).await;
    fixture.reopen(NOW.plus(29_999));
    let read = |now| {
        fixture.store().callers_session(&fixture.live, session.id(), now).wait().unwrap().unwrap()
    };
    let found = read(NOW.plus(29_999));
    assert_eq!(found.to_snapshot(), session.to_snapshot());
    assert_eq!(found.result_at(NOW).unwrap().claims(), r#"{"given_name":"Ada"}"#);
    assert!(read(NOW.plus(30_000)).result_at(NOW).is_none(), "gone when its time is over");
    let wallets = fixture.store().session(session.id()).wait().unwrap().unwrap();
    assert!(wallets.result_at(NOW).is_none(), "the wallet routes never see it");
}

#[tokio::test]
async fn status_events_are_numbered_from_one() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired.clone(), None).await.unwrap(), Committed::Yes);
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::LostRace);
    let events = fixture.events(session.id());
    let expected = [(1, "CREATED"), (2, "PENDING"), (3, "EXPIRED")];
    assert_eq!(events, expected.map(|(seq, status)| (seq, status.to_owned())));
}

#[tokio::test]
async fn a_stale_revision_or_a_deleted_session_loses_the_race() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let mut stale = verify(&session, NOW, "{}");
    stale.from = Revision(stale.from.0 + 7);
    assert_eq!(fixture.store().commit(stale, None).await.unwrap(), Committed::LostRace);
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    let late = verify(&session, NOW, "{}");
    assert_eq!(fixture.store().commit(late, None).await.unwrap(), Committed::LostRace);
    assert!(fixture.store().session(session.id()).wait().unwrap().is_none());
    assert!(fixture.events(session.id()).is_empty());
}

#[tokio::test]
async fn another_clients_session_is_not_visible() {
    let fixture = Fixture::new();
    let other = fixture.operator().create_client("other", true, None, NOW).unwrap();
    let other = fixture.store().authenticate(&other.api_key.digest(), NOW).wait().unwrap().unwrap();
    let session = fixture.session(&fixture.live).await;
    let store = fixture.store();
    assert!(store.callers_session(&fixture.live, session.id(), NOW).wait().unwrap().is_some());
    assert!(store.callers_session(&other, session.id(), NOW).wait().unwrap().is_none());
    assert!(!store.delete_session(&other, session.id(), NOW).await.unwrap());
    assert!(store.session(session.id()).wait().unwrap().is_some());
}

#[tokio::test]
async fn live_and_test_mode_do_not_see_each_other() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.test).await;
    let live_half = Caller { livemode: true, ..fixture.test.clone() };
    let store = fixture.store();
    assert!(!fixture.test.livemode);
    assert!(store.callers_session(&live_half, session.id(), NOW).wait().unwrap().is_none());
    assert!(!store.delete_session(&live_half, session.id(), NOW).await.unwrap());
    assert!(store.callers_session(&fixture.test, session.id(), NOW).wait().unwrap().is_some());
}

#[tokio::test]
async fn a_revoked_client_or_key_stops_at_once() {
    let fixture = Fixture::new();
    let digest = fixture.live_key.digest();
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let set = |sql: &str| assert_eq!(main.execute(sql, [&fixture.live.key_id]).unwrap(), 1);
    let good = || fixture.store().authenticate(&digest, NOW).wait().unwrap().is_some();
    assert!(good());
    set("UPDATE api_keys SET revoked_at = 1 WHERE id = ?1");
    assert!(!good());
    set("UPDATE api_keys SET revoked_at = NULL WHERE id = ?1");
    assert!(good());
    assert!(fixture.operator().revoke_client(fixture.live.client_id.as_str(), NOW).unwrap());
    assert!(!good());
    set("UPDATE api_keys SET revoked_at = NULL WHERE id = ?1");
    assert!(!good(), "the client is revoked, whatever its keys say");
    assert!(!fixture.operator().revoke_client("cli_none", NOW).unwrap());
}

#[test]
fn an_expired_or_unknown_key_or_one_of_the_other_mode_is_refused() {
    let fixture = Fixture::new();
    let digest = fixture.live_key.digest();
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let good = |now| fixture.store().authenticate(&digest, now).wait().unwrap().is_some();
    assert!(fixture.store().authenticate(&[0; 32], NOW).wait().unwrap().is_none());
    let key = &fixture.live.key_id;
    main.execute("UPDATE api_keys SET expires_at = 100 WHERE id = ?1", [key]).unwrap();
    assert!(good(UnixMillis(99)) && !good(UnixMillis(100)));
    main.execute("UPDATE api_keys SET expires_at = NULL, livemode = 0 WHERE id = ?1", [key])
        .unwrap();
    assert!(!good(NOW));
}

#[tokio::test]
async fn the_use_of_a_key_is_stored_at_most_once_a_minute() {
    let fixture = Fixture::new();
    let stored = || {
        let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
        let sql = "SELECT last_used_at FROM api_keys WHERE id = ?1";
        main.query_row(sql, [&fixture.live.key_id], |row| row.get::<_, i64>(0)).unwrap()
    };
    for (later, expected) in [(0, 0), (59_999, 0), (60_000, 60_000), (30_000, 60_000)] {
        let digest = fixture.live_key.digest();
        fixture.store().authenticate(&digest, NOW.plus(later)).wait().unwrap().unwrap();
        fixture.store().writer.submit(|_| Ok(())).await.unwrap();
        assert_eq!(stored(), millis(NOW.plus(expected)), "{later} ms later");
    }
}

#[tokio::test]
async fn due_sessions_are_open_ones_whose_time_is_over() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    fixture.verified(&fixture.live, NOW, "{}").await;
    let due = |now| fixture.store().due_sessions(now, 10).wait().unwrap();
    assert!(due(session.expires_at().minus(1)).is_empty());
    let found = due(session.expires_at());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].as_ref().unwrap().id(), session.id());
    assert!(fixture.store().due_sessions(session.expires_at(), 0).wait().unwrap().is_empty());
}

#[tokio::test]
async fn settled_sessions_are_removed_after_their_time_with_their_events() {
    let fixture = Fixture::new();
    let open = fixture.session(&fixture.live).await;
    let mut settled = Vec::new();
    for n in 0..3 {
        settled.push(fixture.verified(&fixture.live, NOW.plus(n), "{}").await);
    }
    let store = fixture.store();
    assert_eq!(store.remove_settled(NOW, 10).await.unwrap(), 0);
    assert_eq!(store.remove_settled(NOW.plus(9), 2).await.unwrap(), 2);
    assert!(store.session(settled[0].id()).wait().unwrap().is_none());
    assert!(fixture.events(settled[0].id()).is_empty());
    assert!(store.session(settled[2].id()).wait().unwrap().is_some());
    assert!(store.session(open.id()).wait().unwrap().is_some());
}

#[tokio::test]
async fn a_change_of_trust_is_seen_at_the_next_read() {
    let fixture = Fixture::new();
    let before = fixture.store().trust().wait().unwrap();
    assert!(
        Arc::ptr_eq(&before, &fixture.store().trust().wait().unwrap()),
        "unchanged: the same one"
    );
    let change = TrustChange { vct: Some(vec!["urn:x".into()]), ..TrustChange::default() };
    fixture.operator().add_trust("issuer", &change, NOW).unwrap().unwrap();
    let after = fixture.store().trust().wait().unwrap();
    assert!(after.version() > before.version());
    let issuer = idgate_core::ids::IssuerId::new("issuer");
    let entry = after.entry(&issuer).unwrap();
    assert_eq!((entry.vct.len(), entry.keys.len(), entry.default_claims.len()), (1, 1, 1));
    assert!(fixture.operator().remove_trust("issuer", NOW).unwrap());
    assert!(!fixture.operator().remove_trust("issuer", NOW).unwrap());
    assert!(fixture.store().trust().wait().unwrap().entry(&issuer).is_none());
}

#[test]
fn an_entry_without_material_is_not_made() {
    let fixture = Fixture::new();
    let mut operator = fixture.operator();
    assert!(operator.add_trust("other", &TrustChange::default(), NOW).unwrap().is_none());
    assert!(operator.trust_entry("other").unwrap().is_none());
}

#[test]
fn a_wrong_or_missing_instance_key_is_refused() {
    let mut fixture = Fixture::new();
    fixture.close();
    let other = InstanceKey::generate().unwrap();
    let refused = |result: Result<SqliteStore, StoreError>| match result {
        Err(StoreError::Failed(text)) => text,
        _ => panic!("accepted"),
    };
    let text = refused(SqliteStore::open(fixture.path(), options(Some(&other)), NOW));
    assert!(text.contains("IDGATE_INSTANCE_KEY"), "{text}");
    assert!(OperatorStore::open(fixture.path(), Some(&other)).is_err());
    std::fs::remove_file(fixture.path().join("instance.key")).unwrap();
    let text = refused(SqliteStore::open(fixture.path(), options(None), NOW));
    assert!(text.contains("instance.key is missing"), "{text}");
    assert!(!fixture.path().join("instance.key").exists());
}

#[test]
fn a_second_server_on_the_directory_is_refused_and_commands_are_not() {
    let mut fixture = Fixture::new();
    let Err(StoreError::Failed(text)) = SqliteStore::open(fixture.path(), options(None), NOW)
    else {
        panic!("accepted");
    };
    assert!(text.contains("another server"), "{text}");
    assert_eq!(fixture.operator().clients().unwrap().len(), 2);
    fixture.reopen(NOW);
}

#[test]
fn the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("a/b");
    OperatorStore::open(&dir, None).unwrap();
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn no_key_secret_nonce_or_state_is_readable_in_any_file() {
    let fixture = Fixture::new();
    let client = fixture.operator().create_client("third", true, None, NOW).unwrap();
    let session = fixture.session(&fixture.live).await;
    let record: serde_json::Value = serde_json::from_slice(&session.to_snapshot()).unwrap();
    let nonce = record["offers"][0]["nonce"].as_str().unwrap();
    let state = record["offers"][0]["state"].as_str().unwrap();
    let secrets = [client.api_key.expose(), &client.signing_secret, nonce, state];
    for secret in secrets {
        assert!(
            erasure::files_with(fixture.path(), secret.as_bytes()).is_empty(),
            "{}",
            secret.len()
        );
    }
    assert!(!erasure::files_with(fixture.path(), session.id().as_str().as_bytes()).is_empty());
    assert_eq!(session.status_at(NOW), Status::Pending);
}
