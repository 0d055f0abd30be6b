//! Tampering with a chain at every position, by an attacker who can write to the database, and by
//! one who also has the instance key.

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::audit::heads::begin_all;
use crate::audit::report::Auditor;
use crate::audit_append::append;
use crate::audit_chain::{
    AuditEntry, AuditEvent, AuditStatus, Damage, Hash, SignedCheckpoint, entry_hash, genesis,
};
use crate::db::{Db, at_once};
use crate::sqlite::SqliteOperator;
use crate::sqlite::error::begin;
use idgate_base::clock::Stopwatch;

const LENGTH: u64 = 200;

/// A data directory with one chain.
struct Chain {
    dir: TempDir,
    operator: SqliteOperator,
    client_id: String,
}

impl Chain {
    /// A chain of `length` entries, all covered by checkpoints.
    fn of(length: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OperatorStore::open(dir.path(), None).unwrap();
        let client_id = store.create_client("client", true, None, NOW).unwrap().client_id;
        drop(store);
        let operator = SqliteOperator::open(dir.path(), None).unwrap();
        operator.main.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let mut chain = Self { dir, operator, client_id };
        chain.extend(length - 1);
        chain.sign(NOW);
        chain
    }

    /// Adds entries of every kind and form.
    fn extend(&mut self, more: u64) {
        let transaction = begin(&mut self.operator.main).unwrap();
        for n in 0..more {
            let event = match n % 3 {
                0 => AuditEvent::deleted(&format!("ses_{n}"), NOW.plus(n)),
                1 => AuditEvent::of_client(AuditStatus::ApiKeyRotated, NOW.plus(n)),
                _ => AuditEvent::sample(NOW.plus(n)),
            };
            let (db, keys) = (Db::sqlite(&transaction), &self.operator.audit);
            at_once(append(&db, keys, &self.client_id, event)).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn sign(&self, now: UnixMillis) {
        OperatorStore::open(self.dir.path(), None).unwrap().sign_audit(now).unwrap();
    }

    fn report(&self, kept: &[SignedCheckpoint]) -> AuditReport {
        let auditor = Auditor { log: &self.operator, keys: &self.operator.audit };
        auditor.verify(None, kept, u64::MAX).unwrap()
    }

    /// The first damaged place.
    fn verify(&mut self, kept: &[SignedCheckpoint]) -> Option<(u64, Damage)> {
        self.report(kept).breaches.first().map(|breach| (breach.seq, breach.damage))
    }

    fn checkpoints(&self) -> Vec<SignedCheckpoint> {
        let main = &self.operator.main;
        let mut statement = main.prepare("SELECT signed FROM audit_checkpoints").unwrap();
        let lines = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    }

    /// Applies `tamper`, returns what was found, and restores everything.
    fn found(&mut self, tamper: impl FnOnce(&Connection)) -> Option<(u64, Damage)> {
        const TABLES: [&str; 4] =
            ["audit_entries", "audit_heads", "audit_total", "audit_checkpoints"];
        for table in TABLES {
            let save = format!("CREATE TEMP TABLE saved_{table} AS SELECT * FROM {table}");
            self.operator.main.execute_batch(&save).unwrap();
        }
        self.operator.main.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
        tamper(&self.operator.main);
        let found = self.verify(&[]);
        for table in TABLES {
            let restore = format!(
                "DELETE FROM {table}; INSERT INTO {table} SELECT * FROM saved_{table};
                 DROP TABLE saved_{table};"
            );
            self.operator.main.execute_batch(&restore).unwrap();
        }
        found
    }
}

fn run(main: &Connection, sql: &str, seq: u64) {
    let changed = main.execute(sql, [i64::try_from(seq).unwrap()]).unwrap();
    assert!(changed > 0, "{sql} changed nothing");
}

fn entry(main: &Connection, seq: u64) -> (String, Hash, Hash) {
    let sql = "SELECT fields, prev_hash, entry_hash FROM audit_entries WHERE seq = ?1";
    let seq = i64::try_from(seq).unwrap();
    main.query_row(sql, [seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

/// Writes an entry with its correct hash.
fn rewrite(main: &Connection, seq: u64, fields: &str, prev: &Hash) -> Hash {
    let hash = entry_hash(prev, fields);
    let row = (fields, prev, hash, i64::try_from(seq).unwrap());
    let sql =
        "UPDATE audit_entries SET fields = ?1, prev_hash = ?2, entry_hash = ?3 WHERE seq = ?4";
    assert_eq!(main.execute(sql, row).unwrap(), 1);
    hash
}

/// Changes entry `seq` and recomputes every hash after it.
fn rehash_to_head(main: &Connection, client_id: &str, seq: u64, last: u64) -> Hash {
    let mut prev = match seq {
        1 => genesis(client_id),
        _ => entry(main, seq - 1).2,
    };
    for at in seq..=last {
        let fields = entry(main, at).0;
        let fields = if at == seq {
            fields.replacen("\"occurred_at\":\"20", "\"occurred_at\":\"19", 1)
        } else {
            fields
        };
        prev = rewrite(main, at, &fields, &prev);
    }
    prev
}

/// Changes of a single member, for each member of the entry.
fn changed_members(fields: &str) -> Vec<String> {
    let entry: AuditEntry = serde_json::from_str(fields).unwrap();
    let mut changes: Vec<AuditEntry> = Vec::new();
    let mut change = |make: &dyn Fn(&mut AuditEntry)| {
        let mut changed = entry.clone();
        make(&mut changed);
        if changed != entry {
            changes.push(changed);
        }
    };
    change(&|e| e.client_id.push('x'));
    change(&|e| e.credential_types.iter_mut().for_each(|types| types.push("vc+sd-jwt".into())));
    change(&|e| e.credential_types = None);
    change(&|e| e.error_code = Some("wallet_error".into()));
    change(&|e| e.error_code = None);
    change(&|e| e.issuer_ids = Some(Vec::new()));
    change(&|e| e.latency_ms = Some(1));
    change(&|e| e.latency_ms = None);
    change(&|e| e.occurred_at = NOW.minus(1).to_string());
    change(&|e| e.seq += 1);
    change(&|e| e.session_id = Some("ses_other".into()));
    change(&|e| e.session_id = None);
    change(&|e| e.status = "VERIFIED".into());
    let mut texts: Vec<String> = changes.iter().map(AuditEntry::canonical).collect();
    // The same members with other white space are another text.
    texts.push(fields.replacen(':', ": ", 1));
    texts
}

#[test]
fn every_change_at_every_place_of_a_chain_is_detected() {
    let mut chain = Chain::of(LENGTH);
    assert_eq!(chain.verify(&[]), None);
    let id = chain.client_id.clone();
    let mut tried = 0;
    for seq in 1..=LENGTH {
        let (fields, ..) = entry(&chain.operator.main, seq);
        for changed in changed_members(&fields) {
            let update = "UPDATE audit_entries SET fields = ?1 WHERE seq = ?2";
            let found = chain.found(|main| {
                main.execute(update, (&changed, i64::try_from(seq).unwrap())).unwrap();
            });
            assert_eq!(found, Some((seq, Damage::HashMismatch)), "{changed}");
            tried += 1;
        }
        type Tampering<'t> = (&'t str, Box<dyn FnOnce(&Connection) + 't>, &'t [Damage]);
        let with = |sql: &'static str| move |main: &Connection| run(main, sql, seq);
        let anywhere = &[
            Damage::Gap,
            Damage::LinkBroken,
            Damage::TailCut,
            Damage::HashMismatch,
            Damage::CheckpointMismatch,
            Damage::HeadMismatch,
        ];
        let tamperings: Vec<Tampering<'_>> = vec![
            (
                "entry_hash",
                Box::new(with("UPDATE audit_entries SET entry_hash = zeroblob(32) WHERE seq = ?1")),
                &[Damage::HashMismatch],
            ),
            (
                "prev_hash",
                Box::new(with("UPDATE audit_entries SET prev_hash = zeroblob(32) WHERE seq = ?1")),
                &[Damage::LinkBroken],
            ),
            (
                "a short hash",
                Box::new(with("UPDATE audit_entries SET prev_hash = x'00' WHERE seq = ?1")),
                &[Damage::LinkBroken],
            ),
            ("delete", Box::new(with("DELETE FROM audit_entries WHERE seq = ?1")), anywhere),
            ("cut tail", Box::new(with("DELETE FROM audit_entries WHERE seq >= ?1")), anywhere),
            ("cut head", Box::new(with("DELETE FROM audit_entries WHERE seq <= ?1")), anywhere),
            ("seq", Box::new(with("UPDATE audit_entries SET seq = -seq WHERE seq = ?1")), anywhere),
            ("duplicate", Box::new(move |main| insert_after(main, seq, None)), anywhere),
            ("insert", Box::new(|main| insert_after(main, seq, Some(&id))), anywhere),
            ("swap", Box::new(move |main| swap(main, seq)), anywhere),
            (
                "rehash one",
                Box::new(|main| {
                    rehash_to_head(main, &id, seq, seq);
                }),
                &[Damage::LinkBroken, Damage::CheckpointMismatch],
            ),
            (
                "rehash to head",
                Box::new(|main| {
                    rehash_to_head(main, &id, seq, LENGTH);
                }),
                &[Damage::CheckpointMismatch, Damage::HeadMismatch],
            ),
            (
                "rehash to head, and the head",
                Box::new(|main| {
                    let hash = rehash_to_head(main, &id, seq, LENGTH);
                    main.execute("UPDATE audit_heads SET entry_hash = ?1", [hash]).unwrap();
                    main.execute("DELETE FROM audit_checkpoints", []).unwrap();
                }),
                &[Damage::HeadMismatch],
            ),
            (
                "fork: another branch, and longer",
                Box::new(|main| {
                    let hash = rehash_to_head(main, &id, seq, LENGTH);
                    push(main, &id, LENGTH + 1, &hash);
                }),
                &[Damage::CheckpointMismatch, Damage::HeadMismatch],
            ),
        ];
        for (name, tamper, damages) in tamperings {
            let found = chain.found(tamper);
            let found = found.unwrap_or_else(|| panic!("{name} at {seq} was not found"));
            assert!(damages.contains(&found.1), "{name} at {seq}: {found:?}");
            assert!(found.0 <= LENGTH + 1);
            tried += 1;
        }
    }
    assert_eq!(chain.verify(&[]), None, "everything was put back");
    assert!(tried > 4000, "{tried}");
}

/// Shifts the following entries by one and inserts a copy of entry `seq`, or a new entry.
fn insert_after(main: &Connection, seq: u64, own: Option<&str>) {
    let moved = "UPDATE audit_entries SET seq = -(seq + 1) WHERE seq > ?1;";
    main.execute(moved, [i64::try_from(seq).unwrap()]).unwrap();
    main.execute("UPDATE audit_entries SET seq = -seq WHERE seq < 0", []).unwrap();
    let (fields, prev, hash) = entry(main, seq);
    match own {
        Some(id) => push(main, id, seq + 1, &hash),
        None => put(main, seq + 1, &fields, &prev, &hash),
    }
}

/// Appends an entry that is valid by itself.
fn push(main: &Connection, client_id: &str, seq: u64, prev: &Hash) {
    let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, NOW);
    let fields = event.into_entry(client_id, seq).canonical();
    put(main, seq, &fields, prev, &entry_hash(prev, &fields));
}

fn put(main: &Connection, seq: u64, fields: &str, prev: &Hash, hash: &Hash) {
    let sql = "INSERT INTO audit_entries SELECT client_id, ?1, ?2, ?3, ?4 FROM audit_heads";
    main.execute(sql, (i64::try_from(seq).unwrap(), fields, prev, hash)).unwrap();
}

/// Swaps entry `seq` with the next one; the last one with the one before.
fn swap(main: &Connection, seq: u64) {
    let seq = seq.min(LENGTH - 1);
    let (a, b) = (entry(main, seq), entry(main, seq + 1));
    for (at, (fields, prev, hash)) in [(seq + 1, a), (seq, b)] {
        run(main, "DELETE FROM audit_entries WHERE seq = ?1", at);
        put(main, at, &fields, &prev, &hash);
    }
}

#[test]
fn changed_heads_checkpoints_and_totals_are_detected() {
    let mut chain = Chain::of(5);
    chain.extend(2000);
    for (sql, damage) in [
        ("UPDATE audit_heads SET seq = seq - 1", Damage::HeadMismatch),
        ("UPDATE audit_heads SET mac = zeroblob(32)", Damage::HeadMismatch),
        ("UPDATE audit_heads SET entry_hash = x''", Damage::HeadMismatch),
        ("DELETE FROM audit_heads", Damage::HeadMismatch),
        ("UPDATE audit_total SET entries = entries + 1", Damage::TotalMismatch),
        ("DELETE FROM audit_total", Damage::TotalMismatch),
        ("DELETE FROM audit_entries; DELETE FROM audit_heads", Damage::TailCut),
        (
            "DELETE FROM audit_entries; DELETE FROM audit_heads; DELETE FROM audit_checkpoints",
            Damage::ChainMissing,
        ),
        (
            "DELETE FROM audit_entries; DELETE FROM audit_heads; DELETE FROM audit_checkpoints;
             DELETE FROM audit_total",
            Damage::ChainMissing,
        ),
        (
            "DELETE FROM audit_entries; DELETE FROM audit_heads; DELETE FROM audit_checkpoints;
             DELETE FROM api_keys; DELETE FROM clients",
            Damage::TotalMismatch,
        ),
        (
            "DELETE FROM audit_entries; DELETE FROM audit_heads; DELETE FROM audit_checkpoints;
             DELETE FROM audit_total; DELETE FROM api_keys; DELETE FROM clients",
            Damage::TotalMismatch,
        ),
        ("DELETE FROM audit_checkpoints WHERE seq = 5", Damage::CheckpointMismatch),
        ("DELETE FROM audit_checkpoints WHERE seq = 1005", Damage::CheckpointMismatch),
        ("DELETE FROM audit_checkpoints WHERE seq > 1005", Damage::CheckpointMismatch),
        ("UPDATE audit_checkpoints SET signed = 'x' WHERE seq = 5", Damage::CheckpointMismatch),
        (
            "UPDATE audit_checkpoints SET signed = replace(signed, '2026', '2025') WHERE seq = 5",
            Damage::CheckpointMismatch,
        ),
    ] {
        let found = chain.found(|main| main.execute_batch(sql).unwrap());
        assert_eq!(found.map(|(_, damage)| damage), Some(damage), "{sql}");
    }
    assert_eq!(chain.verify(&[]), None);
}

/// With the instance key everything in the directory can be forged, but not the checkpoints kept
/// elsewhere.
#[test]
fn external_checkpoints_reveal_a_rewrite_with_the_instance_key() {
    let mut chain = Chain::of(LENGTH);
    let kept = chain.checkpoints();
    assert_eq!(chain.verify(&kept), None);
    let name = chain.client_id.clone();
    chain
        .operator
        .main
        .execute_batch(
            "DELETE FROM audit_entries; DELETE FROM audit_heads; DELETE FROM audit_total;
             DELETE FROM audit_checkpoints;",
        )
        .unwrap();
    at_once(begin_all(&Db::sqlite(&chain.operator.main), &chain.operator.audit)).unwrap();
    assert_eq!(chain.verify(&[]), None, "nothing is left to differ");
    assert_eq!(chain.verify(&kept), Some((1, Damage::TailCut)));
    chain.client_id = name;
    chain.extend(LENGTH);
    chain.sign(NOW.plus(1));
    assert_eq!(chain.verify(&[]), None, "a good chain, and another one");
    assert_eq!(chain.verify(&kept), Some((LENGTH, Damage::CheckpointMismatch)));
}

#[test]
fn checkpoints_of_another_instance_are_rejected() {
    let mut chain = Chain::of(5);
    let mut foreign = Chain::of(5).checkpoints();
    foreign[0].client_id.clone_from(&chain.client_id);
    assert_eq!(chain.verify(&foreign), Some((5, Damage::CheckpointMismatch)));
    assert!(chain.dir.path().is_dir());
}

/// 1 000 000 entries with `IDGATE_LONG`, otherwise 50 000. Both within 10 seconds.
#[test]
fn a_long_chain_is_verified_in_time() {
    let long = std::env::var_os("IDGATE_LONG").is_some();
    let length = if long { 1_000_000 } else { 50_000 };
    let chain = Chain::of(length);
    let watch = Stopwatch::new();
    let report = chain.report(&[]);
    let seconds = watch.elapsed_us() / 1_000_000;
    assert_eq!((report.entries, report.breaches), (length, Vec::new()));
    assert!(report.checkpoints >= length / 1000);
    assert!(seconds < 10, "{seconds} s for {length} entries");
}
