//! Notifications that wait to be sent, as their client sees them.

use super::super::db::{Db, Row, sql};
use super::super::failure::Done;
use super::super::sql::{one_more, page_of};
use super::super::types::{Caller, Pending};

/// At most `limit` waiting notifications older than `before`, and the position of the last one if
/// there are more. `now`: by the lease clock.
pub(crate) async fn page(
    db: &Db<'_>,
    caller: &Caller,
    before: i64,
    limit: usize,
    now: i64,
) -> Done<(Vec<Pending>, Option<i64>)> {
    let sql = sql("SELECT d.id, d.session_id, {CAST(}d.body{ AS json)} ->> 'status', d.attempts, \
                   CASE WHEN e.host IS NOT NULL AND h.status IS NULL AND d.lease_until IS NULL \
                        THEN NULL WHEN d.lease_until > $5 THEN $5 ELSE d.due_at END, d.seq \
                   FROM webhook_deliveries AS d \
                   LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
                   LEFT JOIN webhook_hosts AS h ON h.host = e.host \
                   WHERE d.client_id = $1 AND d.livemode = $2 AND d.failed_at IS NULL \
                   AND d.seq < $3 ORDER BY d.seq DESC LIMIT $4");
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    let pending =
        db.all(sql, &[&client_id, &livemode, &before, &one_more(limit), &now], read).await?;
    Ok(page_of(pending, limit))
}

fn read(row: &Row<'_>) -> Done<(Pending, i64)> {
    let pending = Pending {
        id: row.get(0)?,
        session_id: row.get(1)?,
        status: row.get(2)?,
        attempts: u32::try_from(row.get::<i64>(3)?).unwrap_or(u32::MAX),
        next_attempt_at: row.time_if_any(4)?,
    };
    Ok((pending, row.get(5)?))
}
