//! The keys of open sessions: sealed, only in `claims.db`, and erased permanently when no longer
//! needed.

use super::erasure::files_with;
use super::*;
use crate::upkeep::Upkeep;
use idgate_base::clock::VirtualClock;

impl Fixture {
    fn keys(&self) -> Vec<Vec<u8>> {
        let claims = rusqlite::Connection::open(self.path().join("claims.db")).unwrap();
        let mut statement = claims.prepare("SELECT sealed FROM session_keys").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

#[tokio::test]
async fn the_main_file_has_no_key() {
    let fixture = Fixture::new();
    let (session, _) = fixture.jar_session().await;
    let pending = session.followed(NOW.plus(1)).unwrap();
    assert_eq!(fixture.store().commit(pending, None).await.unwrap(), Committed::Yes);
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    claims.execute("DELETE FROM session_keys", []).unwrap();
    let mut stored = fixture.store().session(session.id()).wait().unwrap().unwrap();
    assert_eq!(stored.status_at(NOW.plus(1)), Status::Pending);
    assert!(stored.take_encryption_key().is_none());
}

#[tokio::test]
async fn a_settled_sessions_key_is_erased_with_the_next_purge() {
    let fixture = Fixture::new();
    let (session, _) = fixture.jar_session().await;
    let (other, _) = fixture.jar_session().await;
    let sealed = fixture.keys();
    assert_eq!(sealed.len(), 2);
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    assert_eq!(fixture.keys().len(), 2, "not with each settlement");
    fixture.store().purge_results(NOW).await.unwrap();
    // The next job is answered after the erasure of this one.
    fixture.store().delete_session(&fixture.live, other.id(), NOW).await.unwrap();
    for sealed in sealed {
        assert!(files_with(fixture.path(), &sealed[..32]).is_empty());
    }
}

#[tokio::test]
async fn a_failing_job_next_to_the_purge_neither_keeps_nor_removes_keys() {
    let fixture = Fixture::new();
    let (session, _) = fixture.jar_session().await;
    let sealed = fixture.keys().remove(0);
    let (open, _) = fixture.jar_session().await;
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    let writer = &fixture.store().sqlite().writer;
    let (release, held) = std::sync::mpsc::channel::<()>();
    drop(writer.submit(move |_| {
        let _ = held.recv();
        Ok(())
    }));
    let purge = fixture.store().purge_results(NOW);
    let id = open.id().as_str().to_owned();
    let failing = writer.submit(move |batch| {
        batch.spend_key(&id);
        batch.erase_session(&id, None);
        Err::<(), _>(StoreError::Failed("no".into()))
    });
    drop(release);
    purge.await.unwrap();
    assert!(failing.await.is_err());
    fixture.store().purge_results(NOW).await.unwrap();
    fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap();
    assert!(files_with(fixture.path(), &sealed[..32]).is_empty());
    let mut stored = fixture.store().session(open.id()).wait().unwrap().unwrap();
    assert!(stored.take_encryption_key().is_some());
}

#[tokio::test]
async fn keys_of_sessions_that_are_not_open_are_erased_at_open() {
    let mut fixture = Fixture::new();
    let (open, _) = fixture.jar_session().await;
    fixture.close();
    // As if the process died between the two commits of a creation.
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let row = ("ses_unknown", b"ORPHANED-BYTES".repeat(300));
    claims.execute("INSERT INTO session_keys VALUES (?1, ?2)", row).unwrap();
    drop(claims);
    fixture.reopen(NOW.plus(1));
    assert!(files_with(fixture.path(), b"ORPHANED-BYTES").is_empty());
    let mut stored = fixture.store().session(open.id()).wait().unwrap().unwrap();
    assert!(stored.take_encryption_key().is_some(), "the others stay");
}

#[tokio::test]
async fn no_two_keys_share_a_page() {
    let fixture = Fixture::new();
    for _ in 0..20 {
        fixture.jar_session().await;
    }
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let sql =
        "SELECT count(*), max(ncell) FROM dbstat WHERE name = 'session_keys' AND pagetype = 'leaf'";
    let pages: (i64, i64) =
        claims.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(pages, (20, 1));
}

/// As in a running gateway: the clock alone settles it, and the upkeep stores and erases.
#[tokio::test]
async fn an_expired_sessions_key_is_erased_from_every_file() {
    let mut fixture = Fixture::new();
    let (session, key) = fixture.jar_session().await;
    let sealed = fixture.keys().remove(0);
    let store: Arc<Store> = Arc::new(fixture.store.take().unwrap());
    let clock = VirtualClock::at(session.expires_at().minus(1));
    let upkeep = Upkeep::new(store.clone(), Arc::new(clock.clone()));
    assert_eq!(upkeep.expire().await.unwrap(), 0);
    clock.advance(1);
    assert_eq!(upkeep.expire().await.unwrap(), 1);
    upkeep.purge().await.unwrap();
    // The next queued job is answered after the erasure.
    store.purge_results(session.expires_at()).await.unwrap();
    for needle in [&sealed[..32], &key[6..30]] {
        assert!(files_with(fixture.path(), needle).is_empty());
    }
    let stored = store.session(session.id()).wait().unwrap().unwrap();
    assert_eq!(stored.status_at(session.expires_at()), Status::Expired);
}
