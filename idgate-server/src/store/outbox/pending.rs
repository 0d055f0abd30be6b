//! Notifications that wait to be sent, as their client sees them.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, Row};

use super::super::interface::{Caller, Pending, StoreError};
use super::super::sql::{millis, one_more, page_of, time};

/// At most `limit` of them older than `before`, and the position of the last if there are more.
pub(in crate::store) fn page(
    main: &Connection,
    caller: &Caller,
    before: i64,
    limit: usize,
    now: UnixMillis,
) -> Result<(Vec<Pending>, Option<i64>), StoreError> {
    let rows = main
        .prepare_cached(
            "SELECT d.id, d.session_id, json_extract(d.body, '$.status'), d.attempts, \
             CASE WHEN e.host IS NOT NULL AND h.status IS NULL AND d.lease_until IS NULL \
                  THEN NULL WHEN d.lease_until > ?5 THEN ?5 ELSE d.due_at END, d.seq \
             FROM webhook_deliveries AS d \
             LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE d.client_id = ?1 AND d.livemode = ?2 AND d.failed_at IS NULL AND d.seq < ?3 \
             ORDER BY d.seq DESC LIMIT ?4",
        )?
        .query_map(
            (caller.client_id.as_str(), caller.livemode, before, one_more(limit), millis(now)),
            from_row,
        )?
        .collect::<Result<Vec<_>, _>>()?;
    Ok(page_of(rows, limit))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Pending, i64)> {
    let pending = Pending {
        id: row.get(0)?,
        session_id: row.get(1)?,
        status: row.get(2)?,
        attempts: row.get(3)?,
        next_attempt_at: row.get::<_, Option<i64>>(4)?.map(time),
    };
    Ok((pending, row.get(5)?))
}
