//! An altered row of the audit log is detected, and a forged head stops its chain.

use super::*;
use crate::ListedEntry;

fn listed(fixture: &Fixture, caller: &Caller) -> Vec<ListedEntry> {
    fixture.store().audit_page(caller, None, 100, NOW).wait().unwrap().entries
}

fn sql(fixture: &Fixture, statement: &str) {
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    main.execute_batch(statement).unwrap();
}

#[tokio::test]
async fn chain_intact_is_false_for_altered_entries() {
    let fixture = Fixture::new();
    for _ in 0..2 {
        fixture.verified(&fixture.live, NOW, "{}").await;
    }
    let intact = |fixture: &Fixture| -> Vec<bool> {
        listed(fixture, &fixture.live).iter().map(|listed| listed.chain_intact).collect()
    };
    assert_eq!(intact(&fixture), [true; 5]);
    // An entry with other content.
    let live = fixture.live.client_id.as_str();
    let of_3 = format!("client_id = '{live}' AND seq = 3");
    sql(
        &fixture,
        &format!(
            "UPDATE audit_entries SET fields = replace(fields, 'issuer', 'issues') WHERE {of_3}"
        ),
    );
    assert_eq!(intact(&fixture), [true, true, false, true, true]);
    // With a recomputed hash, its successor does not follow any more.
    sql(&fixture, &format!("UPDATE audit_entries SET entry_hash = zeroblob(32) WHERE {of_3}"));
    assert_eq!(intact(&fixture), [true, false, false, true, true]);
    // The same if it is missing.
    sql(&fixture, &format!("DELETE FROM audit_entries WHERE {of_3}"));
    assert_eq!(intact(&fixture), [true, false, true, true]);
    sql(&fixture, &format!("DELETE FROM audit_entries WHERE client_id = '{live}' AND seq = 1"));
    assert_eq!(intact(&fixture), [true, false, false]);
}

#[tokio::test]
async fn a_forged_head_stops_changes_and_audit_entries() {
    for forgery in [
        "UPDATE audit_heads SET seq = seq - 1",
        "UPDATE audit_heads SET entry_hash = zeroblob(32)",
        "UPDATE audit_heads SET checkpoint_seq = 1",
        "UPDATE audit_heads SET checkpoint_hash = zeroblob(32)",
        "UPDATE audit_heads SET open_since = NULL",
        "UPDATE audit_heads SET mac = zeroblob(32)",
        "UPDATE audit_heads SET mac = x''",
        "DELETE FROM audit_heads",
        "UPDATE audit_total SET entries = entries - 1",
        "UPDATE audit_heads SET client_id = client_id || 'x'",
    ] {
        let fixture = Fixture::new();
        let session = fixture.session(&fixture.live).await;
        sql(&fixture, forgery);
        let settled = fixture.store().commit(verify(&session, NOW, "{}"), None).await;
        assert!(settled.is_err(), "{forgery}");
        let stored = fixture.store().session(session.id()).wait().unwrap().unwrap();
        assert_eq!(stored.status_at(NOW), Status::Pending, "{forgery}");
    }
}
