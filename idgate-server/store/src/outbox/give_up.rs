//! Gives up notifications without an attempt. A leased notification is left alone, because its
//! attempt is in progress.

use idgate_core::UnixMillis;
use serde_json::json;

use super::super::db::{Db, Values, sql};
use super::super::failure::Done;
use super::super::sql::{millis, number};
use super::{HOST_NOT_APPROVED, HOST_REJECTED};

/// The current time by the caller's clock, and the time to use instead of the database's clock.
type Times = (UnixMillis, Option<i64>);

/// Turns the waiting notifications of a client into dead letters.
pub(crate) async fn of_client(db: &Db<'_>, client_id: &str, why: &str, times: Times) -> Done<()> {
    forget_replays(db, client_id, times.1).await?;
    let sql = sql("SELECT seq FROM webhook_deliveries \
                   WHERE client_id = $1 AND failed_at IS NULL AND coalesce(lease_until, 0) <= \
                       {coalesce(CAST($2 AS bigint), clock_ms())|$2} \
                   ORDER BY seq {FOR UPDATE SKIP LOCKED}");
    let found = db.all(sql, &[&client_id, &times.1], |row| row.get(0)).await?;
    give_up(db, why, times.0, &found).await.map(drop)
}

/// Turns the notifications for a rejected host into dead letters. Returns how many.
pub(crate) async fn of_host(db: &Db<'_>, host: &str, times: Times) -> Done<usize> {
    let sql = sql("SELECT seq FROM webhook_deliveries \
                   WHERE client_id IN (SELECT client_id FROM webhook_endpoints WHERE host = $1) \
                   AND failed_at IS NULL AND coalesce(lease_until, 0) <= \
                       {coalesce(CAST($2 AS bigint), clock_ms())|$2} \
                   ORDER BY seq {FOR UPDATE SKIP LOCKED}");
    let found = db.all(sql, &[&host, &times.1], |row| row.get(0)).await?;
    give_up(db, HOST_REJECTED, times.0, &found).await
}

/// Turns at most `limit` notifications that have waited for a review since `before` or longer into
/// dead letters. Returns how many.
pub(crate) async fn unreviewed(
    db: &Db<'_>,
    before: UnixMillis,
    limit: usize,
    times: Times,
) -> Done<usize> {
    let sql = sql("SELECT d.seq FROM webhook_deliveries AS d \
                   JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
                   LEFT JOIN webhook_hosts AS h ON h.host = e.host \
                   WHERE d.failed_at IS NULL AND d.queued_at <= $1 AND h.status IS NULL \
                   AND coalesce(d.lease_until, 0) <= \
                       {coalesce(CAST($2 AS bigint), clock_ms())|$2} \
                   ORDER BY d.queued_at, d.seq LIMIT $3 {FOR UPDATE OF d SKIP LOCKED}");
    let values: Values<'_> = &[&millis(before), &times.1, &number(limit)];
    let found = db.all(sql, values, |row| row.get(0)).await?;
    give_up(db, HOST_NOT_APPROVED, times.0, &found).await
}

/// Cancels the scheduled retries of dead letters that cannot be sent after all.
pub(super) async fn forget_replays(db: &Db<'_>, client_id: &str, clock: Option<i64>) -> Done<()> {
    let sql = sql("UPDATE webhook_deliveries SET {node_id = NULL,} due_at = NULL, \
                   lease_until = NULL \
                   WHERE client_id = $1 AND due_at IS NOT NULL AND failed_at IS NOT NULL \
                   AND coalesce(lease_until, 0) <= \
                       {coalesce(CAST($2 AS bigint), clock_ms())|$2}");
    db.run(sql, &[&client_id, &clock]).await.map(drop)
}

/// Turns these notifications into dead letters and numbers them in order. The caller's transaction
/// keeps them from being leased. Returns how many.
async fn give_up(db: &Db<'_>, why: &str, now: UnixMillis, seqs: &[i64]) -> Done<usize> {
    if seqs.is_empty() {
        return Ok(0);
    }
    let sql = sql("WITH numbered AS (SELECT seq, {nextval('webhook_failures')|\
             seq + (SELECT coalesce(max(failure_seq), 0) FROM webhook_deliveries)} AS failure \
             FROM (SELECT {CAST(json_array_elements_text(CAST(CAST($3 AS text) AS json)) \
                 AS bigint) AS seq|value AS seq FROM json_each($3)}) AS given_up) \
         UPDATE webhook_deliveries AS d SET due_at = NULL, lease_until = NULL, \
         {node_id = NULL,} failed_at = $1, error_message = $2, failure_seq = numbered.failure \
         FROM numbered WHERE d.seq = numbered.seq");
    db.run(sql, &[&millis(now), &why, &json!(seqs).to_string()]).await
}
