//! Notifications that wait to be sent, as their client sees them.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::super::interface::{Caller, Pending};
use super::super::super::sql::{one_more, page_of, time};
use super::super::error::Done;
use super::super::shared::Shared;
use super::super::sql::rows;

/// At most `limit` of them older than `before`, and the position of the last if there are more.
pub(super) async fn page(
    shared: &Shared,
    caller: &Caller,
    before: i64,
    limit: usize,
    now: UnixMillis,
) -> Done<(Vec<Pending>, Option<i64>)> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "WITH clock AS MATERIALIZED (SELECT coalesce($5::bigint, clock_ms()) AS now) \
         SELECT d.id, d.session_id, d.body::json ->> 'status', d.attempts, \
         CASE WHEN e.host IS NOT NULL AND h.status IS NULL AND d.lease_until IS NULL THEN NULL \
              WHEN d.lease_until > clock.now THEN clock.now ELSE d.due_at END, d.seq \
         FROM webhook_deliveries AS d CROSS JOIN clock \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE d.client_id = $1 AND d.livemode = $2 AND d.failed_at IS NULL AND d.seq < $3 \
         ORDER BY d.seq DESC LIMIT $4",
        &[
            &caller.client_id.as_str(),
            &caller.livemode,
            &before,
            &one_more(limit),
            &shared.claims_clock.at(now),
        ],
    )
    .await?;
    let pending = found.iter().map(from_row).collect::<Done<Vec<_>>>()?;
    Ok(page_of(pending, limit))
}

fn from_row(row: &Row) -> Done<(Pending, i64)> {
    let pending = Pending {
        id: row.try_get(0)?,
        session_id: row.try_get(1)?,
        status: row.try_get(2)?,
        attempts: u32::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u32::MAX),
        next_attempt_at: row.try_get::<_, Option<i64>>(4)?.map(time),
    };
    Ok((pending, row.try_get(5)?))
}
