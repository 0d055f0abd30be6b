#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod audit;
mod audit_retention;
mod audit_tamper;
mod away;
mod certificates;
pub(super) mod cluster;
mod damage;
mod erasure;
mod first;
mod gateway_keys;
mod groups;
mod metrics;
mod postgres;
mod proxy;
mod session_keys;
mod sql_texts;
mod strangers;
mod upgrade;

use std::path::Path;
use std::sync::Arc;

use idgate_core::{Session, SessionId, Status, UnixMillis};

use super::conformance::{NOW, SqliteDirectory, verify};
use super::sql::millis;
use super::wait::Wait as _;
use super::*;
use crate::environment::Environment;
use crate::quotas::Quotas;
use crate::seal::InstanceKey;

type Fixture = super::conformance::Fixture<SqliteDirectory>;

fn options(instance_key: Option<&InstanceKey>) -> StoreOptions<'_> {
    StoreOptions { instance_key, environment: Environment::Development, quotas: Quotas::default() }
}

impl Fixture {
    fn path(&self) -> &Path {
        self.backend.path()
    }
}

/// A backlog of expiries, for example after a night without a gateway.
#[tokio::test]
async fn settlements_by_the_gateway_use_no_queue_space_of_clients() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let (release, held) = std::sync::mpsc::channel::<()>();
    let holding = fixture.store().sqlite().writer.submit(move |_| {
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
async fn a_settlement_without_a_notification_to_send_does_not_ring() {
    let fixture = Fixture::new();
    let bell = fixture.store().outbox_bell();
    let rings = async || {
        fixture.verified(&fixture.live, NOW, "{}").await;
        std::pin::pin!(bell.notified()).enable()
    };
    assert!(!rings().await, "without an endpoint");
    fixture.put(None).await;
    assert!(!rings().await, "the host was not reviewed");
    fixture.review(Review::Reject("no"));
    assert!(!rings().await, "the host is rejected");
    fixture.review(Review::Approve);
    assert!(rings().await);
}

/// Each written page costs a write at the commit, and most cost another one at a checkpoint.
#[tokio::test]
async fn creating_and_settling_a_session_writes_at_most_19_pages() {
    const SESSIONS: u64 = 100;
    let fixture = Fixture::new();
    // While an older state is read, the log only grows.
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    main.execute_batch("BEGIN; SELECT count(*) FROM sessions").unwrap();
    let pages = || {
        let log = fixture.path().join("idgate.db-wal").metadata().unwrap();
        log.len() / (4096 + 24)
    };
    fixture.verified(&fixture.live, NOW, "{}").await;
    let before = pages();
    for _ in 0..SESSIONS {
        fixture.verified(&fixture.live, NOW, "{}").await;
    }
    let written = pages() - before;
    assert!(written <= 19 * SESSIONS, "{written} pages for {SESSIONS} sessions");
}

#[tokio::test]
async fn a_revoked_client_or_key_stops_immediately() {
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
fn an_expired_unknown_or_other_mode_key_is_rejected() {
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
        fixture.store().sqlite().writer.submit(|_| Ok(())).await.unwrap();
        assert_eq!(stored(), millis(NOW.plus(expected)), "{later} ms later");
    }
}

#[test]
fn a_wrong_or_missing_instance_key_is_refused() {
    let mut fixture = Fixture::new();
    fixture.close();
    let other = InstanceKey::generate().unwrap();
    let refused = |result: Result<Store, StoreError>| match result {
        Err(StoreError::Failed(text)) => text,
        _ => panic!("accepted"),
    };
    let text = refused(Store::open(fixture.path(), options(Some(&other)), NOW));
    assert!(text.contains("IDGATE_INSTANCE_KEY"), "{text}");
    assert!(OperatorStore::open(fixture.path(), Some(&other)).is_err());
    std::fs::remove_file(fixture.path().join("instance.key")).unwrap();
    let text = refused(Store::open(fixture.path(), options(None), NOW));
    assert!(text.contains("instance.key is missing"), "{text}");
    assert!(!fixture.path().join("instance.key").exists());
}

#[test]
fn a_second_server_on_a_directory_is_refused_but_commands_are_not() {
    let mut fixture = Fixture::new();
    let Err(StoreError::Failed(text)) = Store::open(fixture.path(), options(None), NOW) else {
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
