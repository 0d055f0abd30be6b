//! Counts of the database now.

use idgate_core::UnixMillis;

use super::super::db::{Db, Row, sql};
use super::super::failure::{Done, Failure};
use super::super::sql::unsigned;
use idgate_base::telemetry::Gauges;

/// Reads the counts that are the same for both databases.
pub(crate) async fn read(db: &Db<'_>, now: UnixMillis) -> Done<Gauges> {
    let sql =
        sql("SELECT (SELECT min(open_since) FROM audit_heads WHERE open_since IS NOT NULL), \
                   (SELECT min(queued_at) FROM webhook_deliveries WHERE failed_at IS NULL), \
                   (SELECT count(*) FROM webhook_deliveries WHERE failed_at IS NULL), \
                   (SELECT count(*) FROM webhook_deliveries WHERE failed_at IS NOT NULL)");
    let read = |row: &Row<'_>| {
        let since = |at| -> Done<u64> { Ok(row.time_if_any(at)?.map_or(0, |at| now.since(at))) };
        Ok(Gauges {
            audit_open_ms: since(0)?,
            webhook_oldest_ms: since(1)?,
            webhook_queue: unsigned(row.get(2)?),
            dead_letters: unsigned(row.get(3)?),
            ..Gauges::default()
        })
    };
    db.one(sql, &[], read).await?.ok_or_else(|| Failure::failed("the database returned no count"))
}
