//! Runs the cases on SQLite.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::environment::Environment;
use crate::quotas::Quotas;

/// A data directory.
pub(crate) struct SqliteDirectory(TempDir);

impl SqliteDirectory {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Backend for SqliteDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self, now: UnixMillis) -> Store {
        let options = StoreOptions {
            instance_key: None,
            environment: Environment::Development,
            quotas: Quotas::default(),
        };
        Store::open(self.path(), options, now).unwrap()
    }

    fn operator(&self) -> Box<OperatorStore> {
        Box::new(OperatorStore::open(self.path(), None).unwrap())
    }

    fn damage(&self, what: Damage<'_>) {
        let main = Connection::open(self.path().join("idgate.db")).unwrap();
        let (sql, id) = match what {
            Damage::Session(id) => ("UPDATE sessions SET record = x'00' WHERE id = ?1", id),
            Damage::AuditHead(client_id) => {
                ("UPDATE audit_heads SET mac = zeroblob(32) WHERE client_id = ?1", client_id)
            }
        };
        assert_eq!(main.execute(sql, [id]).unwrap(), 1);
    }

    fn holds(&self, needle: &[u8]) -> bool {
        std::fs::read_dir(self.path()).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
    }
}

conforms!(SqliteDirectory);
