//! Data that idgate 0.1.0 sealed, as a killed server left it, is sealed again and bound to its
//! client.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::db::{Db, at_once};
use crate::seal::Sealer;
use crate::sqlite::directory;
use crate::webhook_endpoints;

const MAIN: &str = include_str!("first/idgate.sql");
const CLAIMS: &str = include_str!("first/claims.sql");
const KEY: &str = "lU0DpUGQHC4DhQEMclpCrVQKTg+2QoFeDAl/WTkmBWQ=";
const SHOP: &str = "cli_l1Gff0mUrRSj30EMp9US93";
const OTHER: &str = "cli_3croitaVtkYJFmcAlpI5Y0";
/// An open session, created under an idempotency key.
const ONCE: &str = "ses_gGxE7WVLM6frMW3rtbAyc1";
const FAILED: &str = "ses_01JDXofUsKzpDCvM6L32N1";
const OPEN: &str = "ses_D3Y02kPKU9XaOwrgAxK7k7";
/// Shortly after they were created.
const THEN: UnixMillis = UnixMillis(1_795_323_330_000);

fn directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("instance.key"), KEY).unwrap();
    for (name, dump) in [("idgate.db", MAIN), ("claims.db", CLAIMS)] {
        let database = Connection::open(dir.path().join(name)).unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        database.execute_batch(dump).unwrap();
    }
    dir
}

fn caller(client_id: &str) -> Caller {
    let client_id = idgate_core::TenantId::new(client_id);
    let since = idgate_base::clock::Moment::now();
    let key_id = "key_x".into();
    Caller { client_id, key_id, digest: [0; 32], livemode: true, scopes: None, since }
}

fn open(dir: &Path) -> Store {
    Store::open(dir, options(None), THEN).unwrap()
}

/// The first bytes of everything sealed.
fn forms(dir: &Path) -> Vec<u8> {
    let mut forms = Vec::new();
    for line in include_str!("first/sealed.txt").lines() {
        let [file, table, column] = *line.splitn(3, ' ').collect::<Vec<_>>() else { panic!() };
        let conn = Connection::open(dir.join(file)).unwrap();
        let mut statement = conn.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<Vec<u8>>>(0)).unwrap();
        let sealed: Vec<_> = rows.filter_map(Result::unwrap).map(|sealed| sealed[0]).collect();
        assert!(!sealed.is_empty(), "{table}.{column}");
        forms.extend(sealed);
    }
    forms
}

#[tokio::test]
async fn values_sealed_by_the_first_version_are_resealed_unchanged() {
    let dir = directory();
    assert!(forms(dir.path()).iter().all(|form| *form == 1));
    let store = open(dir.path());
    assert!(forms(dir.path()).iter().all(|form| *form == 2));
    for id in [ONCE, OPEN] {
        let mut session = store.session(&SessionId::new(id)).wait().unwrap().unwrap();
        assert!(session.status_at(THEN) != Status::Failed && session.settled_at().is_none());
        assert!(session.take_encryption_key().is_some(), "{id}");
    }
    let shop = caller(SHOP);
    let failed =
        store.callers_session(&shop, &SessionId::new(FAILED), THEN).wait().unwrap().unwrap();
    assert_eq!(failed.status_at(THEN), Status::Failed);
    let once = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"once");
    let answered = store.answered(&shop, once.as_ref().try_into().unwrap(), THEN).wait().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answered.unwrap().answer).unwrap();
    assert_eq!(answer["session_id"], ONCE);
    assert!(store.gateway_keys().wait().unwrap().active.id().len() > 8);
    let key = directory::existing_key(dir.path(), None).unwrap().unwrap();
    let main = Connection::open(dir.path().join("idgate.db")).unwrap();
    let to = at_once(webhook_endpoints::destination(
        &Db::sqlite(&main),
        &Sealer::new(&key).unwrap(),
        SHOP,
        THEN,
    ));
    let to = to.unwrap().unwrap();
    assert_eq!(to.secret.expose(), "whsec_P1hH8Gn/t7UtgSNZ8HmzIfrt8usjBT7vWbW8TiLcYxk=");
    let previous = to.previous.unwrap();
    assert_eq!(previous.expose(), "whsec_WWK8Y4qPhU+tBrxzLUrlKMSkJIeibMguHSfMCNveMHc=");
    let report = OperatorStore::open(dir.path(), None).unwrap().verify_audit(None, &[]).unwrap();
    assert!(report.breaches.is_empty(), "{report:?}");
    // A second time: nothing is left to do.
    drop(store);
    open(dir.path());
}

#[tokio::test]
async fn a_notification_queued_by_the_first_version_is_removed_with_its_session() {
    let dir = directory();
    let store = open(dir.path());
    let main = Connection::open(dir.path().join("idgate.db")).unwrap();
    let left = || -> (i64, i64) {
        let sql = "SELECT count(*), count(*) FILTER (WHERE due_at = queued_at AND failed_at IS NULL) \
                   FROM webhook_deliveries WHERE id = 'whf_' || substr(session_id, 5)";
        main.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    assert_eq!(left(), (1, 1), "it waits as before");
    assert!(store.delete_session(&caller(SHOP), &SessionId::new(FAILED), THEN).await.unwrap());
    assert_eq!(left(), (0, 0));
}

#[test]
fn an_upgrade_with_another_key_changes_nothing() {
    let dir = directory();
    let other = InstanceKey::generate().unwrap();
    let before = forms(dir.path());
    assert!(OperatorStore::open(dir.path(), Some(&other)).is_err());
    assert_eq!(forms(dir.path()), before);
    open(dir.path());
}

#[test]
fn a_session_that_was_moved_before_the_upgrade_stays_unreadable() {
    let dir = directory();
    let main = Connection::open(dir.path().join("idgate.db")).unwrap();
    main.execute("UPDATE sessions SET client_id = ?2 WHERE id = ?1", [FAILED, OTHER]).unwrap();
    drop(main);
    let store = open(dir.path());
    let id = SessionId::new(FAILED);
    let moved = store.callers_session(&caller(OTHER), &id, THEN).wait();
    assert!(matches!(moved, Err(StoreError::Damaged(_))), "{moved:?}");
    assert!(store.callers_session(&caller(SHOP), &id, THEN).wait().unwrap().is_none());
    assert!(
        store.session(&SessionId::new(OPEN)).wait().unwrap().is_some(),
        "the others are upgraded"
    );
}

#[test]
fn a_row_in_the_old_form_is_no_longer_read() {
    let dir = directory();
    let main = Connection::open(dir.path().join("idgate.db")).unwrap();
    let sql = "SELECT record FROM sessions WHERE id = ?1";
    let old: Vec<u8> = main.query_row(sql, [FAILED], |row| row.get(0)).unwrap();
    let store = open(dir.path());
    main.execute("UPDATE sessions SET record = ?2 WHERE id = ?1", (FAILED, old)).unwrap();
    let found = store.callers_session(&caller(SHOP), &SessionId::new(FAILED), THEN).wait();
    assert!(matches!(found, Err(StoreError::Damaged(_))), "{found:?}");
}

#[tokio::test]
async fn a_session_a_key_a_result_or_an_answer_of_another_client_is_not_read() {
    let fixture = Fixture::new();
    let other = fixture.operator().create_client("other", true, None, NOW).unwrap();
    let other = fixture.store().authenticate(&other.api_key.digest(), NOW).wait().unwrap().unwrap();
    let theirs = fixture.verified(&fixture.live, NOW, r#"{"given_name":"Ada"}"#).await;
    let main = Connection::open(fixture.path().join("idgate.db")).unwrap();
    let change = "UPDATE sessions SET client_id = ?2 WHERE id = ?1";
    let moved = (theirs.id().as_str(), other.client_id.as_str());
    assert_eq!(main.execute(change, moved).unwrap(), 1);
    let read = fixture.store().callers_session(&other, theirs.id(), NOW).wait();
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    assert!(fixture.store().session(theirs.id()).wait().is_err());
    assert!(
        fixture.store().events(&other, theirs.id(), 0, 9).wait().unwrap().is_some(),
        "no secret"
    );
    // A result that is moved to an attacker's own session.
    let own = fixture.verified(&other, NOW, r#"{"given_name":"Eve"}"#).await;
    let claims = Connection::open(fixture.path().join("claims.db")).unwrap();
    let swap = "UPDATE results SET sealed = (SELECT sealed FROM results WHERE session_id = ?1) \
                WHERE session_id = ?2";
    claims.execute(swap, [theirs.id().as_str(), own.id().as_str()]).unwrap();
    let read = fixture.store().callers_session(&other, own.id(), NOW).wait();
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
}
