//! Gauges of the two files.

use std::path::PathBuf;

use idgate_core::UnixMillis;
use rusqlite::Connection;

use super::SqliteStore;
use crate::db::{Db, at_once};
use crate::lanes::LaneKey;
use crate::metrics::gauges;
use crate::sql::{time, unsigned};
use crate::types::{Read, StoreError};
use idgate_base::telemetry::Gauges;

impl SqliteStore {
    pub(crate) fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        let disk = self.disk.clone();
        let (writes, reads) = (Some(self.writer.waiting()), Some(self.readers.waiting()));
        self.readers.read_long(LaneKey::GATEWAY, move |reader| {
            let (disk_full, disk) = (disk.is_full(), disk.bytes());
            let (claims_rows, purge_lag_ms) = stored_claims(&reader.claims, now)?;
            let wal_bytes = wal_bytes(&reader.main).saturating_add(wal_bytes(&reader.claims));
            let gauges = at_once(gauges::read(&Db::sqlite(&reader.main), now))?;
            Ok(Gauges {
                claims_rows,
                purge_lag_ms,
                wal_bytes,
                disk_full,
                disk,
                writes,
                reads,
                ..gauges
            })
        })
    }
}

/// How many results are stored, and how long the oldest one has been due.
fn stored_claims(claims: &Connection, now: UnixMillis) -> Result<(u64, u64), StoreError> {
    let (rows, due): (i64, Option<i64>) = claims
        .prepare_cached("SELECT count(*), min(redact_at) FROM results")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((unsigned(rows), due.map_or(0, |at| now.since(time(at)))))
}

fn wal_bytes(conn: &Connection) -> u64 {
    let mut path = PathBuf::from(conn.path().unwrap_or_default()).into_os_string();
    path.push("-wal");
    std::fs::metadata(path).map_or(0, |file| file.len())
}
