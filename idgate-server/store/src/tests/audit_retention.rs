//! Old entries are removed, altered ones are not, and nothing is removed after the clock was set.

use std::cell::Cell;
use std::sync::Arc;

use rusqlite::Connection;

use super::*;
use crate::audit::proof::EntryRow;
use crate::audit::report::{Auditor, Log, Moment};
use crate::audit_chain::{AuditKeys, entry_hash, genesis};
use crate::conformance::retention::{chain, count, remove};
use crate::sqlite::audit::Rows;
use crate::sqlite::directory::DirectoryKey;
use crate::upkeep::Upkeep;
use idgate_base::clock::{Clock, VirtualClock};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn main(fixture: &Fixture) -> Connection {
    Connection::open(fixture.path().join("idgate.db")).unwrap()
}

/// Rewrites the first `count` entries of the live client's chain with other content and matching
/// hashes, up to the link of the next one.
fn rewrite(fixture: &Fixture, count: i64) {
    let (main, client_id) = (main(fixture), fixture.live.client_id.as_str());
    let mut prev = genesis(client_id);
    for seq in 1..=count {
        let of_seq = "client_id = ?1 AND seq = ?2";
        let sql = format!("SELECT fields FROM audit_entries WHERE {of_seq}");
        let fields: String = main.query_row(&sql, (client_id, seq), |row| row.get(0)).unwrap();
        let fields = fields.replace("\"occurred_at\":\"2026", "\"occurred_at\":\"2025");
        let hash = entry_hash(&prev, &fields);
        let sql = format!(
            "UPDATE audit_entries SET fields = ?3, prev_hash = ?4, entry_hash = ?5 WHERE {of_seq}"
        );
        assert_eq!(main.execute(&sql, (client_id, seq, fields, prev, hash)).unwrap(), 1);
        prev = hash;
    }
    let sql = "UPDATE audit_entries SET prev_hash = ?3 WHERE client_id = ?1 AND seq = ?2";
    main.execute(sql, (client_id, count + 1, prev)).unwrap();
}

#[tokio::test]
async fn a_rewritten_beginning_of_a_chain_is_not_removed() {
    type Alter = fn(&Connection);
    let forge: [(&str, i64, usize, Alter); 5] = [
        ("the next entry follows another", 2, 2, |main| {
            main.execute("UPDATE audit_entries SET prev_hash = zeroblob(32) WHERE seq = 3", [])
                .unwrap();
        }),
        ("a checkpoint says otherwise", 4, 4, |_| ()),
        ("the checkpoint is gone", 4, 4, |main| {
            main.execute("DELETE FROM audit_checkpoints WHERE seq = 3", []).unwrap();
        }),
        ("all checkpoints are gone", 4, 4, |main| {
            main.execute("DELETE FROM audit_checkpoints", []).unwrap();
        }),
        ("the checkpoint is another", 4, 4, |main| {
            let sql =
                "UPDATE audit_checkpoints SET signed = replace(signed, '\"seq\":3', '\"seq\":2')";
            main.execute(sql, []).unwrap();
        }),
    ];
    for (how, rewritten, limit, alter) in forge {
        let fixture = chain().await;
        rewrite(&fixture, rewritten);
        alter(&main(&fixture));
        let refused = remove(&fixture, limit).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))), "{how}: {refused:?}");
        assert_eq!(count(&fixture), 7, "{how}");
    }
}

/// A log whose oldest entries are removed in the middle of a walk, a given number of times.
struct Shrinking<'f> {
    rows: Rows<'f>,
    fixture: &'f Fixture,
    times: Cell<usize>,
}

impl Log for Shrinking<'_> {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        self.rows.moment(client)
    }

    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        if client_id == self.fixture.live.client_id.as_str() && self.times.get() > 0 {
            self.times.set(self.times.get() - 1);
            assert_eq!(remove(self.fixture, 2).wait().unwrap(), 2);
        }
        self.rows.entries(client_id, bounds, limit)
    }
}

#[test]
fn entries_removed_during_a_walk_are_not_reported_missing() {
    let fixture = chain().wait();
    let key = DirectoryKey::find(fixture.path(), None).unwrap().key;
    let (main, keys) = (main(&fixture), AuditKeys::new(&key).unwrap());
    let rows = Rows { main: &main, keys: &keys };
    let log = Shrinking { rows, fixture: &fixture, times: Cell::new(2) };
    let verify = || Auditor { log: &log, keys: &keys }.verify(None, &[], u64::MAX).unwrap();
    let report = verify();
    assert!(report.breaches.is_empty(), "{report:?}");
    assert_eq!(report.removed, 4);
    // Without a removal record, it counts as damage.
    main.execute("DELETE FROM audit_removals", []).unwrap();
    assert_eq!(verify().breaches.len(), 1);
}

#[tokio::test]
async fn a_chain_altered_below_a_checkpoint_gets_no_more_checkpoints() {
    for alteration in [
        "UPDATE audit_entries SET entry_hash = zeroblob(32) WHERE seq = 7",
        "UPDATE audit_entries SET entry_hash = zeroblob(32) WHERE seq = 8",
        "DELETE FROM audit_entries WHERE seq = 7",
        "DELETE FROM audit_checkpoints WHERE seq = 7",
        "UPDATE audit_checkpoints SET signed = replace(signed, '202', '203') WHERE seq = 7",
    ] {
        let fixture = chain().await;
        fixture.session(&fixture.live).await;
        main(&fixture).execute(alteration, []).unwrap();
        let signed = fixture.store().sign_checkpoints(NOW, 10, NOW).await.unwrap();
        let live = fixture.live.client_id.as_str().to_owned();
        assert_eq!((signed.signed, signed.altered), (0, vec![live]), "{alteration}");
    }
}

#[tokio::test]
async fn nothing_is_removed_within_a_day_of_a_clock_step_or_a_late_start() {
    let mut fixture = Fixture::new();
    let store: Arc<Store> = Arc::new(fixture.store.take().unwrap());
    let clock = VirtualClock::at(NOW);
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let start = || Upkeep::new(store.clone(), shared.clone()).keeping_audit(30);
    let upkeep = start();
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    clock.set(NOW.plus(3650 * DAY));
    upkeep.purge().await.unwrap();
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    clock.advance(DAY - 1);
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    // A restart does not end the day, and the latest entry is too old as well.
    let upkeep = start();
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    // Set back while no gateway was running: the day begins again.
    clock.set(NOW.plus(31 * DAY));
    let upkeep = start();
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    clock.advance(DAY - 1);
    assert_eq!(upkeep.remove_audit().await.unwrap(), 0);
    clock.advance(1);
    assert_eq!(upkeep.remove_audit().await.unwrap(), 3);
}
