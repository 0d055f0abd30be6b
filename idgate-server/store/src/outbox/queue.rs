//! Due notifications: their leases, and the results of attempts.

use std::sync::Arc;

use idgate_core::UnixMillis;
use serde_json::json;

use super::super::db::{Db, Row, sql};
use super::super::env::{Env, NODE_GONE_MS};
use super::super::failure::Done;
use super::super::sql::{millis, number};
use super::super::types::{DeliveryResult, HostStatus, Lane, Leased, Target, Wanted};
use super::super::webhook_endpoints::destination;
use super::{ENDPOINT_MISSING, HOST_REJECTED, give_up};
use idgate_base::spans::Parent;

/// Whether a client's notifications may be sent.
enum Standing {
    Send,
    Hold,
    GiveUp(&'static str),
}

/// The times of a lease.
#[derive(Clone, Copy)]
struct Times {
    /// The current time by the caller's clock.
    now: UnixMillis,
    /// Replaces the database's clock.
    clock: Option<i64>,
    lease_ms: i64,
}

/// Releases the leases of processes that have ended; on PostgreSQL, of nodes that are gone. The
/// notifications become due before all that were queued later, so that the order is kept.
pub(crate) async fn release(db: &Db<'_>, env: &Env, now: UnixMillis) -> Done<usize> {
    let sql = sql("UPDATE webhook_deliveries AS d SET lease_until = NULL, {node_id = NULL,} \
                   due_at = {least|min}(queued_at, \
                       {coalesce(CAST($1 AS bigint), clock_ms())|$1}) \
                   WHERE lease_until IS NOT NULL AND {NOT EXISTS (SELECT FROM nodes \
                       WHERE nodes.id = d.node_id AND beat_at > clock_ms() - $2)|$2 = $2}");
    db.run(sql, &[&env.lease_clock(now), &NODE_GONE_MS]).await
}

/// Steps from client to client along the index, so the cost does not depend on how much each client
/// has waiting.
pub(crate) async fn due_lanes(db: &Db<'_>, env: &Env, now: UnixMillis) -> Done<Vec<Lane>> {
    let sql = sql("WITH RECURSIVE \
         clock AS {MATERIALIZED} (SELECT {coalesce(CAST($1 AS bigint), clock_ms())|$1} AS now), \
         lane (client_id) AS ( \
             SELECT min(client_id) FROM webhook_deliveries WHERE due_at IS NOT NULL \
             UNION ALL \
             SELECT (SELECT min(d.client_id) FROM webhook_deliveries AS d \
                     WHERE d.due_at IS NOT NULL AND d.client_id > lane.client_id) \
             FROM lane WHERE lane.client_id IS NOT NULL \
         ) \
         SELECT lane.client_id, coalesce(e.host, ''), d.held \
         FROM lane {CROSS JOIN LATERAL|JOIN webhook_deliveries AS d ON d.seq =} ( \
             SELECT f.seq{, f.held, f.due_at, f.failed_at} FROM webhook_deliveries AS f \
             WHERE f.client_id = lane.client_id AND f.due_at <= (SELECT now FROM clock) \
             ORDER BY f.due_at, f.seq LIMIT 1) {AS d} \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = lane.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         JOIN clients AS c ON c.id = lane.client_id \
         WHERE h.status IS NOT NULL OR e.host IS NULL OR c.revoked_at IS NOT NULL \
             OR d.failed_at IS NOT NULL \
         ORDER BY d.due_at, d.seq");
    let lane =
        |row: &Row<'_>| Ok(Lane { client_id: row.get(0)?, host: row.get(1)?, held: row.get(2)? });
    db.all(sql, &[&env.lease_clock(now)], lane).await
}

pub(crate) async fn lease(
    db: &Db<'_>,
    env: &Env,
    wanted: &[Wanted],
    (now, lease_until): (UnixMillis, UnixMillis),
) -> Done<Vec<Leased>> {
    let lease_ms = number(lease_until.since(now));
    let times = Times { now, clock: env.lease_clock(now), lease_ms };
    let mut leased = Vec::new();
    for Wanted { client_id, count } in wanted {
        match standing(db, client_id).await? {
            Standing::Send => {
                let to = destination(db, &env.sealer, client_id, now).await?;
                let Some(to) = to else { continue };
                let due = due_of(db, client_id, *count, times.clock).await?;
                let target = Arc::new(to.into_target());
                leased.extend(take(db, env, (client_id, &target), &due, times).await?);
            }
            Standing::Hold => give_up::forget_replays(db, client_id, times.clock).await?,
            Standing::GiveUp(why) => {
                give_up::of_client(db, client_id, why, (times.now, times.clock)).await?;
            }
        }
    }
    Ok(leased)
}

/// Ends a lease of this node.
pub(crate) async fn end(
    db: &Db<'_>,
    env: &Env,
    (seq, lease_until): (i64, UnixMillis),
    verdict: &DeliveryResult,
    now: UnixMillis,
) -> Done<bool> {
    let (lease_until, node) = (millis(lease_until), &env.node);
    let changed = match verdict {
        DeliveryResult::Delivered => {
            let sql = sql("DELETE FROM webhook_deliveries \
                           WHERE seq = $1 AND lease_until = $2 AND {node_id|$3} = $3");
            db.run(sql, &[&seq, &lease_until, node]).await?
        }
        // If the host was rejected or the endpoint removed in the meantime, the next round gives
        // the notification up without waiting for the next attempt.
        DeliveryResult::Failed { error, again_at: Some(again_at) } => {
            let sql = sql("UPDATE webhook_deliveries AS d SET lease_until = NULL, \
                {node_id = NULL,} attempts = attempts + 1, error_message = $4, \
                due_at = {coalesce(CAST($5 AS bigint), clock_ms())|$5} + CASE WHEN EXISTS ( \
                    SELECT 1 FROM webhook_endpoints AS e LEFT JOIN webhook_hosts AS h \
                    ON h.host = e.host WHERE e.client_id = d.client_id \
                    AND h.status IS DISTINCT FROM 'REJECTED') THEN CAST($6 AS bigint) ELSE 0 END \
                WHERE seq = $1 AND lease_until = $2 AND {node_id|$3} = $3");
            let (clock, wait) = (env.lease_clock(now), number(again_at.since(now)));
            db.run(sql, &[&seq, &lease_until, node, error, &clock, &wait]).await?
        }
        DeliveryResult::Failed { error, again_at: None } => {
            let sql = sql("UPDATE webhook_deliveries SET lease_until = NULL, {node_id = NULL,} \
                attempts = attempts + 1, error_message = $4, due_at = NULL, failed_at = $5, \
                failure_seq = {nextval('webhook_failures')|\
                    (SELECT coalesce(max(failure_seq), 0) + 1 FROM webhook_deliveries)} \
                WHERE seq = $1 AND lease_until = $2 AND {node_id|$3} = $3");
            db.run(sql, &[&seq, &lease_until, node, error, &millis(now)]).await?
        }
    };
    Ok(changed > 0)
}

/// Leases these notifications of a client.
async fn take(
    db: &Db<'_>,
    env: &Env,
    (client_id, target): (&str, &Arc<Target>),
    due: &[i64],
    times: Times,
) -> Done<Vec<Leased>> {
    let sql = sql("WITH clock AS {MATERIALIZED} \
             (SELECT {coalesce(CAST($2 AS bigint), clock_ms())|$2} + $3 AS ends) \
         UPDATE webhook_deliveries SET \
         lease_until = (SELECT ends FROM clock), due_at = (SELECT ends FROM clock) \
         {, node_id = $4} WHERE seq {= ANY(ARRAY(SELECT CAST(json_array_elements_text( \
             CAST(CAST($1 AS text) AS json)) AS bigint)))|\
             IN (SELECT value FROM json_each($1) WHERE $4 = $4)} \
         RETURNING seq, id, body, attempts, failed_at IS NOT NULL, lease_until, parent_span");
    let read = |row: &Row<'_>| {
        Ok(Leased {
            seq: row.get(0)?,
            id: row.get(1)?,
            client_id: client_id.to_owned(),
            body: row.get(2)?,
            attempts: u32::try_from(row.get::<i64>(3)?).unwrap_or(u32::MAX),
            is_replay: row.get(4)?,
            lease_until: row.time(5)?,
            target: target.clone(),
            parent: row.get::<Option<String>>(6)?.as_deref().and_then(Parent::parse),
        })
    };
    let due = json!(due).to_string();
    let mut taken = db.all(sql, &[&due, &times.clock, &times.lease_ms, &env.node], read).await?;
    // RETURNING has no defined order.
    taken.sort_by_key(|it| it.seq);
    Ok(taken)
}

/// The first due notifications. Those that waited for a review of their host go one at a time, in
/// order, whichever node sends them. A single gateway keeps that order by itself.
async fn due_of(db: &Db<'_>, client_id: &str, count: usize, clock: Option<i64>) -> Done<Vec<i64>> {
    let sql = sql("WITH clock AS {MATERIALIZED} \
             (SELECT {coalesce(CAST($2 AS bigint), clock_ms())|$2} AS now) \
         SELECT seq, held, {held AND EXISTS ( \
             SELECT 1 FROM webhook_deliveries AS o WHERE o.client_id = $1 AND o.held \
             AND o.lease_until > (SELECT now FROM clock))|false} \
         FROM webhook_deliveries WHERE client_id = $1 AND due_at <= (SELECT now FROM clock) \
         ORDER BY due_at, seq LIMIT $3 {FOR UPDATE SKIP LOCKED}");
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Vec<(i64, bool, bool)> =
        db.all(sql, &[&client_id, &clock, &number(count)], read).await?;
    let mut due = Vec::new();
    for (seq, held, waits) in found {
        if held && (waits || !due.is_empty()) {
            break;
        }
        due.push(seq);
        if held {
            break;
        }
    }
    Ok(due)
}

/// Whether a client's notifications may be sent. No other node leases from its lane before this
/// transaction ends.
async fn standing(db: &Db<'_>, client_id: &str) -> Done<Standing> {
    let sql = sql("SELECT h.status FROM webhook_endpoints AS e \
                   JOIN clients AS c ON c.id = e.client_id \
                   LEFT JOIN webhook_hosts AS h ON h.host = e.host \
                   WHERE e.client_id = $1 AND c.revoked_at IS NULL {FOR NO KEY UPDATE OF e}");
    let found = db.one(sql, &[&client_id], |row| row.get::<Option<String>>(0)).await?;
    Ok(match found.map(|status| HostStatus::of(status.as_deref())) {
        None => Standing::GiveUp(ENDPOINT_MISSING),
        Some(HostStatus::Approved) => Standing::Send,
        Some(HostStatus::Pending) => Standing::Hold,
        Some(HostStatus::Rejected) => Standing::GiveUp(HOST_REJECTED),
    })
}
