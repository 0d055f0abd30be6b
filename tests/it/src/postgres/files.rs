//! Searches the database's files for results: tables, write-ahead log, a base backup. Before a
//! result expires only the tables have it; afterwards nothing does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::nodes::Nodes;
use crate::disk;
use crate::http::Http;
use crate::server::eventually;
use crate::tenant::{Tenant, request_for, wallet_with};

/// Longer than a page of the database.
const LONG: &str = "Sentinel-W2k9vB";

struct Files {
    nodes: Nodes,
    /// The folder for base backups.
    backups: tempfile::TempDir,
    /// Pieces of the sealed results.
    sealed: Vec<Vec<u8>>,
    /// Pieces of the sealed records of the same sessions, which are kept.
    records: Vec<Vec<u8>>,
    /// When the sessions were verified, by the database's clock, which stands still.
    verified: i64,
}

impl Files {
    fn verified() -> Option<Self> {
        let nodes = Nodes::start(2)?;
        let verified = nodes.cluster.stop_clock(&nodes.url());
        let api_key = nodes.client.api_key.clone();
        let mut sessions = Vec::new();
        for (value, address) in ["Ada".to_owned(), LONG.repeat(600)].iter().zip(nodes.addresses()) {
            let mut tenant = Tenant { http: Http::new(address), api_key: api_key.clone() };
            let wallet = wallet_with(&[("given_name", value)]);
            sessions.push(tenant.verified(&request_for(&["given_name"]), &wallet).id);
        }
        let (mut sealed, mut records) = (Vec::new(), Vec::new());
        for id in &sessions {
            let of = |sql: &str| nodes.cluster.run(&nodes.url(), sql);
            let slot = of(&format!("SELECT claims_slot FROM sessions WHERE id = '{id}'"));
            let result = of(&format!(
                "SELECT encode(sealed, 'hex') FROM claims_{slot:0>2} WHERE session_id = '{id}'"
            ));
            let record =
                of(&format!("SELECT encode(record, 'hex') FROM sessions WHERE id = '{id}'"));
            sealed.extend(disk::pieces(&bytes(&result)));
            records.extend(disk::pieces(&bytes(&record)));
        }
        assert!(sealed.len() > 300 && records.len() > 10, "{} {}", sealed.len(), records.len());
        let backups = tempfile::TempDir::new().unwrap();
        Some(Self { nodes, backups, sealed, records, verified })
    }

    /// The database's folder, including what was only in memory. A checkpoint skips unlogged
    /// tables, except for the one when a database is created.
    fn data(&self) -> PathBuf {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("flush_{}", MADE.fetch_add(1, Ordering::Relaxed));
        self.nodes.cluster.create(&name, "template1");
        self.nodes.cluster.dir().join("data")
    }

    /// 31 seconds have passed since the verification.
    fn pass(&self) {
        self.nodes.cluster.set_clock(&self.nodes.url(), self.verified + 31_000);
        self.nodes.machine.jump(Duration::from_secs(31));
    }

    fn base_backup(&self, name: &str) -> PathBuf {
        let to = self.backups.path().join(name);
        self.nodes.cluster.base_backup(&to);
        to
    }

    fn with_results(&self, folder: &Path) -> Vec<PathBuf> {
        disk::files_with(folder, &self.sealed)
    }

    /// The search finds data that is there.
    #[track_caller]
    fn expect_records(&self, folder: &Path) {
        let found = disk::files_with(folder, &self.records);
        let of = |part: &str| found.iter().any(|file| file.starts_with(folder.join(part)));
        assert!(of("base"), "no record in the tables of {}: {found:?}", folder.display());
    }
}

#[test]
#[ignore = "before a release: waits for files of PostgreSQL"]
fn no_ciphertext_of_a_result_is_in_any_file_31_seconds_after_verification() {
    let Some(files) = Files::verified() else { return };
    let data = files.data();
    let found = files.with_results(&data);
    assert!(found.iter().any(|file| file.starts_with(data.join("base"))), "{found:?}");
    assert!(!found.iter().any(|file| file.starts_with(data.join("pg_wal"))), "{found:?}");
    let logged = disk::files_with(&data.join("pg_wal"), &files.records);
    assert!(!logged.is_empty(), "the search finds nothing in the log");
    let early = files.base_backup("early");
    files.expect_records(&early);
    assert_eq!(files.with_results(&early), [] as [PathBuf; 0], "of a base backup");
    files.pass();
    let slots: Vec<String> =
        (0..96).map(|slot| format!("pg_relation_size('claims_{slot:02}')")).collect();
    let size = format!("SELECT {}", slots.join(" + "));
    eventually("nothing is left in the tables", || {
        files.nodes.cluster.run(&files.nodes.url(), &size) == "0"
    });
    let data = files.data();
    files.expect_records(&data);
    assert_eq!(files.with_results(&data), [] as [PathBuf; 0]);
    let late = files.base_backup("late");
    files.expect_records(&late);
    assert_eq!(files.with_results(&late), [] as [PathBuf; 0], "of a base backup");
}

/// Data that every killed node left behind is erased by the next node before it serves.
#[test]
#[ignore = "before a release: waits for files of PostgreSQL"]
fn results_due_while_all_nodes_were_down_are_erased_before_serving() {
    let Some(mut files) = Files::verified() else { return };
    for node in &mut files.nodes.nodes {
        node.kill();
    }
    files.pass();
    let data = files.data();
    assert!(!files.with_results(&data).is_empty(), "another process erased them");
    files.nodes.nodes[0].serve();
    let data = files.data();
    assert_eq!(files.with_results(&data), [] as [PathBuf; 0]);
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
