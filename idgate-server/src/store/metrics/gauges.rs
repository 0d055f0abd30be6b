//! What the files hold at one moment.

use std::path::PathBuf;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::interface::StoreError;
use super::super::readers::Reader;
use super::super::sql::{time, unsigned};
use crate::telemetry::Gauges;

pub(in crate::store) fn read(reader: &Reader, now: UnixMillis) -> Result<Gauges, StoreError> {
    let (rows, due): (i64, Option<i64>) = reader
        .claims
        .prepare_cached("SELECT count(*), min(redact_at) FROM results")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let open: Option<i64> = reader
        .main
        .prepare_cached("SELECT min(open_since) FROM audit_heads WHERE open_since IS NOT NULL")?
        .query_row([], |row| row.get(0))?;
    let (queued, oldest): (i64, Option<i64>) = reader
        .main
        .prepare_cached(
            "SELECT count(*), min(queued_at) FROM webhook_deliveries WHERE failed_at IS NULL",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let dead_letters: i64 = reader
        .main
        .prepare_cached("SELECT count(*) FROM webhook_deliveries WHERE failed_at IS NOT NULL")?
        .query_row([], |row| row.get(0))?;
    let since = |at: Option<i64>| at.map_or(0, |at| now.since(time(at)));
    Ok(Gauges {
        claims_rows: unsigned(rows),
        purge_lag_ms: since(due),
        webhook_queue: unsigned(queued),
        webhook_oldest_ms: since(oldest),
        dead_letters: unsigned(dead_letters),
        wal_bytes: wal_bytes(&reader.main).saturating_add(wal_bytes(&reader.claims)),
        audit_open_ms: since(open),
        ..Gauges::default()
    })
}

fn wal_bytes(conn: &Connection) -> u64 {
    let mut path = PathBuf::from(conn.path().unwrap_or_default()).into_os_string();
    path.push("-wal");
    std::fs::metadata(path).map_or(0, |file| file.len())
}
