//! Erased data is in no file: these tests read every byte of the data directory.

use std::path::Path;

use idgate_core::Reader;

use super::*;
use crate::sqlite::claims;
use crate::sqlite::files;
use idgate_testkit::patience::until;

/// The files in `dir` that contain `needle`.
pub(super) fn files_with(dir: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(needle.len()).any(|window| window == needle) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// 16-byte pieces of a stored result, from its beginning, middle and end.
fn pieces(fixture: &Fixture, id: &SessionId) -> Vec<Vec<u8>> {
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let sql = "SELECT sealed FROM results WHERE session_id = ?1";
    let sealed: Vec<u8> = claims.query_row(sql, [id.as_str()], |row| row.get(0)).unwrap();
    sealed.chunks_exact(16).step_by(40).map(<[u8]>::to_vec).collect()
}

fn assert_gone(fixture: &Fixture, pieces: &[Vec<u8>]) {
    for piece in pieces {
        assert!(files_with(fixture.path(), piece).is_empty());
    }
}

#[tokio::test]
async fn claims_are_sealed_while_they_are_stored() {
    let fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, r#"{"given_name":"SENTINEL"}"#).await;
    assert!(files_with(fixture.path(), b"SENTINEL").is_empty());
    let pieces = pieces(&fixture, session.id());
    assert!(!files_with(fixture.path(), &pieces[0]).is_empty(), "the search finds what is there");
}

#[tokio::test]
async fn purged_results_are_in_no_file() {
    let fixture = Fixture::new();
    let mut gone = Vec::new();
    let large = format!("{{\"portrait\":\"{}\"}}", "A".repeat(90_000));
    for n in 0..40 {
        let claims = if n % 10 == 0 { &*large } else { "{}" };
        let session = fixture.verified(&fixture.live, NOW.plus(n), claims).await;
        gone.extend(pieces(&fixture, session.id()).into_iter().take(9));
    }
    let kept = fixture.verified(&fixture.live, NOW.plus(500), "{}").await;
    let now = NOW.plus(30_100);
    assert_eq!(fixture.store().purge_results(now).await.unwrap(), 40);
    fixture.store().delete_session(&fixture.live, kept.id(), NOW).await.unwrap();
    assert_gone(&fixture, &gone);
    assert_eq!(fixture.store().purge_results(now).await.unwrap(), 0);
}

#[tokio::test]
async fn results_removed_one_by_one_are_in_no_file_while_others_stay() {
    let fixture = Fixture::new();
    let mut sessions = Vec::new();
    for n in 0..150_u64 {
        let claims = format!("\"{}\"", "x".repeat(usize::try_from(n * 37 % 900).unwrap()));
        sessions.push(fixture.verified(&fixture.live, NOW.plus(n * 7919 % 150), &claims).await);
    }
    let mut gone = Vec::new();
    for session in sessions.iter().skip(1).step_by(3) {
        gone.extend(pieces(&fixture, session.id()).into_iter().take(1));
        assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    }
    assert_eq!(gone.len(), 50);
    assert_gone(&fixture, &gone);
}

/// SQLite leaves old copies of rows in a page when it moves them to a neighbour, which it only does
/// if a page holds several rows.
#[tokio::test]
async fn no_two_results_share_a_page() {
    let fixture = Fixture::new();
    for n in 0..60_u64 {
        let size = usize::try_from(n * n * 37).unwrap();
        let claims = format!("\"{}\"", "x".repeat(size));
        fixture.verified(&fixture.live, NOW, &claims).await;
    }
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let sql =
        "SELECT count(*), max(ncell) FROM dbstat WHERE name = 'results' AND pagetype = 'leaf'";
    let pages: (i64, i64) =
        claims.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(pages, (60, 1));
}

/// Ids are random, so an index of them would be scattered: neighbours in time must be neighbours in
/// the file.
#[tokio::test]
async fn results_due_together_are_neighbours_in_the_file() {
    let fixture = Fixture::new();
    for n in 0..300 {
        fixture.verified(&fixture.live, NOW.plus(n), "{}").await;
    }
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    let indexes = "SELECT group_concat(name) FROM pragma_index_list('results')";
    let names: String = claims.query_row(indexes, [], |row| row.get(0)).unwrap();
    assert_eq!(names, "results_by_end");
    let mut plan = claims
        .prepare("EXPLAIN QUERY PLAN DELETE FROM results WHERE redact_at <= 1 OR redact_at > 9")
        .unwrap();
    let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
    assert!(steps.map(Result::unwrap).all(|step| !step.starts_with("SCAN")));
    let rows = "SELECT count(*) FROM (SELECT rowid, row_number() OVER (ORDER BY redact_at) AS place FROM results) \
                WHERE rowid <> place";
    assert_eq!(claims.query_row(rows, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

fn with_the_table_of_before(fixture: &Fixture) -> rusqlite::Connection {
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    claims
        .execute_batch(
            "CREATE TABLE before (session_id TEXT PRIMARY KEY, redact_at INTEGER NOT NULL, \
             sealed BLOB NOT NULL) STRICT; INSERT INTO before SELECT * FROM results; \
             DROP TABLE results; ALTER TABLE before RENAME TO results; \
             CREATE INDEX results_due ON results (redact_at)",
        )
        .unwrap();
    claims
}

fn tables_of_results(claims: &rusqlite::Connection) -> String {
    let names = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema \
                 WHERE (tbl_name = 'results' OR name = 'earlier') AND sql IS NOT NULL ORDER BY name)";
    claims.query_row(names, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn without_disk_space_the_earlier_results_table_stays() {
    let mut fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    for _ in 0..9 {
        fixture.verified(&fixture.live, NOW, "{}").await;
    }
    fixture.close();
    with_the_table_of_before(&fixture).execute_batch("VACUUM").unwrap();
    let mut claims = files::open_claims(fixture.path()).unwrap();
    let pages: i64 = claims.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    claims.pragma_update(None, "max_page_count", pages).unwrap();
    assert!(matches!(claims::order_by_end(&mut claims), Err(StoreError::Full)));
    assert_eq!(tables_of_results(&claims), "results,results_by_end,results_due");
    drop(claims);
    fixture.reopen(NOW);
    let found = fixture.store().callers_session(&fixture.live, session.id(), NOW).wait();
    assert!(found.unwrap().unwrap().result(Reader::Backend, NOW).is_ok());
}

/// A table that a killed gateway of a version before this index left behind.
#[tokio::test]
async fn results_in_the_earlier_table_are_read_and_erased() {
    let mut fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, r#"{"given_name":"Ada"}"#).await;
    let gone = fixture.verified(&fixture.live, NOW.plus(1), "{}").await;
    let pieces = pieces(&fixture, gone.id());
    fixture.close();
    with_the_table_of_before(&fixture);
    for _ in 0..2 {
        fixture.reopen(NOW.plus(2));
        let found = fixture.store().callers_session(&fixture.live, session.id(), NOW).wait();
        assert!(
            found
                .unwrap()
                .unwrap()
                .result(Reader::Backend, NOW)
                .unwrap()
                .claims_json()
                .contains("Ada")
        );
        fixture.close();
    }
    fixture.reopen(NOW.plus(2));
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    assert_eq!(tables_of_results(&claims), "results,results_by_end");
    drop(claims);
    assert!(fixture.store().delete_session(&fixture.live, gone.id(), NOW).await.unwrap());
    assert_gone(&fixture, &pieces);
    assert_eq!(fixture.store().purge_results(NOW.plus(30_000)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_reader_delays_an_erasure_but_does_not_prevent_it() {
    let fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let pieces = pieces(&fixture, session.id());
    let reader = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM results;").unwrap();
    let purged = fixture.store().purge_results(NOW.plus(30_000)).await.unwrap();
    assert_eq!(purged, 1, "answered although the reader is in the way");
    assert!(!files_with(fixture.path(), &pieces[0]).is_empty(), "the log still holds it");
    reader.execute_batch("COMMIT").unwrap();
    gone_soon(&fixture, &pieces).await;
}

/// An erasure that was held up is finished without another request.
async fn gone_soon(fixture: &Fixture, pieces: &[Vec<u8>]) {
    let is_gone = async || pieces.iter().all(|piece| files_with(fixture.path(), piece).is_empty());
    until("it is erased", is_gone).await;
}

#[tokio::test]
async fn a_deleted_sessions_result_is_in_no_file() {
    let fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let pieces = pieces(&fixture, session.id());
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert_gone(&fixture, &pieces);
    assert!(!fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
}

/// The sealed record of a stored session.
fn record(fixture: &Fixture, id: &SessionId) -> Vec<u8> {
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let sql = "SELECT record FROM sessions WHERE id = ?1";
    main.query_row(sql, [id.as_str()], |row| row.get(0)).unwrap()
}

/// The tables that contain `id` in a text.
fn tables_with(fixture: &Fixture, id: &SessionId) -> Vec<String> {
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let sql = "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c \
               WHERE m.type = 'table' AND c.type = 'TEXT' ORDER BY m.name";
    let mut statement = main.prepare(sql).unwrap();
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
    let has = |(table, column): &(String, String)| -> bool {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE instr({column}, ?1) > 0)");
        main.query_row(&sql, [id.as_str()], |row| row.get(0)).unwrap()
    };
    let mut tables: Vec<String> = columns.into_iter().filter(has).map(|(table, _)| table).collect();
    tables.dedup();
    tables
}

#[tokio::test]
async fn a_deleted_session_is_in_no_file() {
    let fixture = Fixture::new();
    fixture.session(&fixture.live).await;
    let pending = fixture.session(&fixture.live).await;
    let verified = fixture.verified(&fixture.live, NOW, "{}").await;
    fixture.session(&fixture.live).await;
    for session in [pending, verified] {
        let id = session.id();
        let needle = record(&fixture, id)[..32].to_vec();
        assert!(!files_with(fixture.path(), &needle).is_empty(), "the search finds it");
        assert!(fixture.store().delete_session(&fixture.live, id, NOW).await.unwrap());
        assert_gone(&fixture, &[needle]);
        assert_eq!(tables_with(&fixture, id), ["audit_entries"]);
    }
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_a_reader_and_finishes_after_it() {
    let fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let needle = record(&fixture, session.id())[..32].to_vec();
    let result = pieces(&fixture, session.id());
    let reader = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sessions;").unwrap();
    let deletion = fixture.store().delete_session(&fixture.live, session.id(), NOW);
    let deleted = tokio::time::timeout(std::time::Duration::from_secs(5), deletion).await;
    assert!(deleted.expect("it waits for the reader").unwrap());
    assert_gone(&fixture, &result);
    assert!(fixture.store().session(session.id()).wait().unwrap().is_none());
    assert!(!files_with(fixture.path(), &needle).is_empty(), "the reader is in the way");
    reader.execute_batch("COMMIT").unwrap();
    gone_soon(&fixture, &[needle]).await;
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_a_reader_of_the_results() {
    let fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let result = pieces(&fixture, session.id());
    let reader = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM results;").unwrap();
    let deletion = fixture.store().delete_session(&fixture.live, session.id(), NOW);
    let deleted = tokio::time::timeout(std::time::Duration::from_secs(5), deletion).await;
    assert!(deleted.expect("it waits for the reader").unwrap());
    reader.execute_batch("COMMIT").unwrap();
    gone_soon(&fixture, &result).await;
}

#[tokio::test]
async fn a_result_due_implausibly_late_is_erased_from_every_file() {
    let mut fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let result = pieces(&fixture, session.id());
    // The clock is set back by an hour.
    let then = NOW.minus(3_600_000);
    let read = |now| fixture.store().callers_session(&fixture.live, session.id(), now).wait();
    assert!(read(NOW).unwrap().unwrap().result(Reader::Backend, NOW).is_ok());
    assert!(read(then).unwrap().unwrap().result(Reader::Backend, then).is_err());
    assert_eq!(fixture.store().purge_results(NOW.minus(1000)).await.unwrap(), 0, "a moment ago");
    assert_eq!(fixture.store().purge_results(then).await.unwrap(), 1);
    gone_soon(&fixture, &result).await;
    let again = fixture.verified(&fixture.live, NOW, "{}").await;
    let result = pieces(&fixture, again.id());
    fixture.close();
    fixture.reopen(then);
    assert_gone(&fixture, &result);
}

#[tokio::test]
async fn a_damaged_results_file_is_set_aside_replaced_and_erased_in_time() {
    let mut fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    fixture.close();
    for name in ["claims.db-wal", "claims.db-shm"] {
        let _ = std::fs::remove_file(fixture.path().join(name));
    }
    std::fs::write(fixture.path().join("claims.db"), b"JUNK-JUNK-JUNK".repeat(9000)).unwrap();
    fixture.reopen(NOW);
    let aside = fixture.path().join("claims.db.damaged");
    assert!(aside.is_file());
    assert!(fixture.store().session(session.id()).wait().unwrap().is_some());
    let verified = fixture.verified(&fixture.live, NOW, "{}").await;
    let found = fixture.store().callers_session(&fixture.live, verified.id(), NOW).wait();
    assert!(found.unwrap().unwrap().result(Reader::Backend, NOW).is_ok());
    fixture.store().purge_results(NOW.plus(29_000)).await.unwrap();
    assert!(aside.is_file());
    fixture.store().purge_results(NOW.plus(30_000)).await.unwrap();
    assert!(!aside.exists());
    assert!(files_with(fixture.path(), b"JUNK-JUNK-JUNK").is_empty());
}

#[tokio::test]
async fn results_that_expired_while_stopped_are_erased_at_open() {
    let mut fixture = Fixture::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let pieces = pieces(&fixture, session.id());
    fixture.close();
    assert!(!files_with(fixture.path(), &pieces[0]).is_empty());
    fixture.reopen(NOW.plus(30_000));
    assert_gone(&fixture, &pieces);
    let found = fixture.store().session(session.id()).wait().unwrap().unwrap();
    assert_eq!(found.status_at(NOW), Status::Verified);
}

#[tokio::test]
async fn a_result_whose_session_was_never_committed_is_erased_at_open() {
    let mut fixture = Fixture::new();
    let pending = fixture.session(&fixture.live).await;
    let verified = fixture.verified(&fixture.live, NOW, "{}").await;
    fixture.close();
    // As if the process died after committing the results and before committing the sessions.
    let claims = rusqlite::Connection::open(fixture.path().join("claims.db")).unwrap();
    for id in [pending.id().as_str(), "ses_unknown"] {
        let row = (id, millis(NOW.plus(30_000)), b"ORPHANED-BYTES".repeat(300));
        claims.execute("INSERT INTO results VALUES (?1, ?2, ?3)", row).unwrap();
    }
    drop(claims);
    fixture.reopen(NOW.plus(1));
    assert!(files_with(fixture.path(), b"ORPHANED-BYTES").is_empty());
    let found =
        fixture.store().callers_session(&fixture.live, verified.id(), NOW).wait().unwrap().unwrap();
    assert!(found.result(Reader::Backend, NOW).is_ok(), "the others stay");
}
