//! What operators measure.

use std::path::PathBuf;
use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::db::{Db, at_once, at_one_moment};
use super::super::interface::{MetricsStore, MetricsSummary, Read, StoreError};
use super::super::lanes::Whose;
use super::super::metrics::{gauges, hour_of, summary};
use super::super::readers::Reader;
use super::super::sql::{number, time, unsigned};
use super::SqliteStore;
use crate::telemetry::{Gauges, Telemetry};

impl MetricsStore for SqliteStore {
    fn metrics_summary(&self, window_hours: u64, now: UnixMillis) -> Read<'_, MetricsSummary> {
        let last = hour_of(now);
        let first = last.saturating_sub(number(window_hours));
        let read = move |reader: &Reader| {
            at_one_moment(&reader.main, async |db| summary(db, first, last).await)
        };
        self.fault.sum(self.readers.read_long(Whose::GATEWAY, read))
    }

    fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        let disk = self.disk.clone();
        let (writes, reads) = (Some(self.writer.waiting()), Some(self.readers.waiting()));
        self.readers.read_long(Whose::GATEWAY, move |reader| {
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

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }
}

/// How many results are stored, and for how long the oldest is due.
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
