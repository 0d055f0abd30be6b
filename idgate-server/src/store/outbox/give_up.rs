//! Notifications that are given up without an attempt. What is leased is left alone: an attempt under way ends as it
//! will.

use idgate_core::time::UnixMillis;

use super::super::db::{Db, sql};
use super::super::failure::Done;
use super::super::sql::{millis, number};
use super::{HOST_NOT_APPROVED, HOST_REJECTED};

/// Now by the caller's clock, and what replaces the database's.
type Times = (UnixMillis, Option<i64>);

/// Whose notifications are given up.
#[derive(Clone, Copy, Debug)]
enum Among<'a> {
    /// Of this client.
    Client(&'a str),
    /// For endpoints on this host.
    Host(&'a str),
    /// For hosts without a review, queued at this time or before; at most so many.
    Unreviewed(UnixMillis, usize),
}

/// Makes dead letters of what waits to be sent to a client.
pub(in crate::store) async fn of_client(
    db: &Db<'_>,
    client_id: &str,
    why: &str,
    times: Times,
) -> Done<()> {
    forget_replays(db, client_id, times.1).await?;
    give_up(db, why, times, Among::Client(client_id)).await.map(drop)
}

/// Makes dead letters of what waits for a host that was rejected; says how many.
pub(in crate::store) async fn of_host(db: &Db<'_>, host: &str, times: Times) -> Done<usize> {
    give_up(db, HOST_REJECTED, times, Among::Host(host)).await
}

/// Makes dead letters of what has waited for a review since `before` or longer, at most `limit`; says how many.
pub(in crate::store) async fn unreviewed(
    db: &Db<'_>,
    before: UnixMillis,
    limit: usize,
    times: Times,
) -> Done<usize> {
    give_up(db, HOST_NOT_APPROVED, times, Among::Unreviewed(before, limit)).await
}

/// Retries of dead letters that cannot be sent after all come to nothing.
pub(super) async fn forget_replays(db: &Db<'_>, client_id: &str, clock: Option<i64>) -> Done<()> {
    let sql = sql("UPDATE webhook_deliveries SET {node_id = NULL,} due_at = NULL, \
                   lease_until = NULL \
                   WHERE client_id = $1 AND due_at IS NOT NULL AND failed_at IS NOT NULL \
                   AND coalesce(lease_until, 0) <= \
                       {coalesce(CAST($2 AS bigint), clock_ms())|$2}");
    db.run(sql, &[&client_id, &clock]).await.map(drop)
}

/// Turns queued notifications without a lease into dead letters, for the reason `why`, and says how many.
async fn give_up(db: &Db<'_>, why: &str, (now, clock): Times, among: Among<'_>) -> Done<usize> {
    let (client_id, host, queued, limit) = match among {
        Among::Client(id) => (Some(id), None, i64::MAX, i64::MAX),
        Among::Host(host) => (None, Some(host), i64::MAX, i64::MAX),
        Among::Unreviewed(before, limit) => (None, None, millis(before), number(limit)),
    };
    let is_unreviewed = matches!(among, Among::Unreviewed(..));
    let sql = sql("WITH given_up AS ( \
             SELECT d.seq FROM webhook_deliveries AS d \
             LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE d.failed_at IS NULL AND coalesce(d.lease_until, 0) <= \
                 {coalesce(CAST($3 AS bigint), clock_ms())|$3} \
             AND (CAST($4 AS text) IS NULL OR d.client_id = $4) \
             AND (CAST($5 AS text) IS NULL OR e.host = $5) \
             AND d.queued_at <= $6 \
             AND (NOT CAST($8 AS boolean) OR (e.host IS NOT NULL AND h.status IS NULL)) \
             ORDER BY d.queued_at, d.seq LIMIT $7 {FOR UPDATE OF d SKIP LOCKED}), \
         numbered AS (SELECT seq, {nextval('webhook_failures')|\
             seq + (SELECT coalesce(max(failure_seq), 0) FROM webhook_deliveries)} AS failure \
             FROM given_up) \
         UPDATE webhook_deliveries AS d SET due_at = NULL, lease_until = NULL, \
         {node_id = NULL,} failed_at = $1, error_message = $2, failure_seq = numbered.failure \
         FROM numbered WHERE d.seq = numbered.seq");
    let at = millis(now);
    let given_up = db
        .run(sql, &[&at, &why, &clock, &client_id, &host, &queued, &limit, &is_unreviewed])
        .await?;
    Ok(usize::try_from(given_up).unwrap_or(usize::MAX))
}
