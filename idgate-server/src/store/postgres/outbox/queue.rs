//! What is due, which node is at it, and how it ended.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::super::db::Db;
use super::super::super::interface::{HostStatus, Lane, Leased, Verdict, Wanted};
use super::super::super::outbox::{ENDPOINT_MISSING, HOST_REJECTED};
use super::super::super::sql::{millis, number, time};
use super::super::super::webhook_endpoints::destination;
use super::super::error::Done;
use super::super::nodes;
use super::super::pool::Tx;
use super::super::shared::Shared;
use super::super::sql::{execute, row, rows};
use super::give_up::{self, Among};
use crate::spans::Parent;

/// What may be done with a client's notifications.
enum Standing {
    Send,
    Hold,
    GiveUp(&'static str),
}

/// How long what is asked for takes.
#[derive(Clone, Copy)]
struct Times {
    /// The callers' own.
    now: UnixMillis,
    /// What stands for the database's clock, if it is not that clock.
    clock: Option<i64>,
    /// How long a lease is.
    lease_ms: i64,
}

/// Takes the leases from nodes that are gone. Before whatever was queued later, so that what is released
/// in order stays in order.
pub(super) async fn release(shared: &Shared, now: UnixMillis) -> Done<usize> {
    let client = shared.pool.client().await?;
    let released = execute(
        &client,
        "UPDATE webhook_deliveries AS d SET lease_until = NULL, node_id = NULL, \
         due_at = least(queued_at, coalesce($1::bigint, clock_ms())) \
         WHERE lease_until IS NOT NULL AND NOT EXISTS ( \
             SELECT FROM nodes WHERE nodes.id = d.node_id AND beat_at > clock_ms() - $2)",
        &[&shared.claims_clock.at(now), &nodes::GONE_MS],
    )
    .await?;
    Ok(usize::try_from(released).unwrap_or(usize::MAX))
}

/// Steps from client to client along the index, however much each has waiting.
pub(super) async fn due_lanes(shared: &Shared, now: UnixMillis) -> Done<Vec<Lane>> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "WITH RECURSIVE \
         clock AS MATERIALIZED (SELECT coalesce($1::bigint, clock_ms()) AS now), \
         lane (client_id) AS ( \
             SELECT min(client_id) FROM webhook_deliveries WHERE due_at IS NOT NULL \
             UNION ALL \
             SELECT (SELECT min(d.client_id) FROM webhook_deliveries AS d \
                     WHERE d.due_at IS NOT NULL AND d.client_id > lane.client_id) \
             FROM lane WHERE lane.client_id IS NOT NULL \
         ) \
         SELECT lane.client_id, coalesce(e.host, ''), d.held \
         FROM lane CROSS JOIN LATERAL ( \
             SELECT f.seq, f.held, f.due_at, f.failed_at FROM webhook_deliveries AS f \
             WHERE f.client_id = lane.client_id AND f.due_at <= (SELECT now FROM clock) \
             ORDER BY f.due_at, f.seq LIMIT 1) AS d \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = lane.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         JOIN clients AS c ON c.id = lane.client_id \
         WHERE h.status IS NOT NULL OR e.host IS NULL OR c.revoked_at IS NOT NULL \
             OR d.failed_at IS NOT NULL \
         ORDER BY d.due_at, d.seq",
        &[&shared.claims_clock.at(now)],
    )
    .await?;
    let lane = |row: &Row| {
        let (client_id, host) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Lane { client_id, host, held: row.try_get(2)? })
    };
    found.iter().map(lane).collect()
}

pub(super) async fn lease(
    shared: &Shared,
    mut wanted: Vec<Wanted>,
    now: UnixMillis,
    lease_until: UnixMillis,
) -> Done<Vec<Leased>> {
    // As every node asks for them: none waits for a lane that waits for another's.
    wanted.sort_by(|one, other| one.client_id.cmp(&other.client_id));
    let lease_ms = number(lease_until.since(now));
    let times = Times { now, clock: shared.claims_clock.at(now), lease_ms };
    let with = (shared, &*wanted, times);
    shared
        .pool
        .transact(&with, |&(shared, wanted, times), tx| {
            Box::pin(async move {
                let mut leased = Vec::new();
                for wanted in wanted {
                    lease_lane(shared, tx, wanted, times, &mut leased).await?;
                }
                Ok(leased)
            })
        })
        .await
}

/// Ends a lease of this node.
pub(super) async fn end(
    shared: &Shared,
    (seq, lease_until): (i64, i64),
    verdict: &Verdict,
    now: UnixMillis,
) -> Done<bool> {
    let client = shared.pool.client().await?;
    let changed = match verdict {
        Verdict::Delivered => {
            let sql = "DELETE FROM webhook_deliveries \
                 WHERE seq = $1 AND lease_until = $2 AND node_id = $3";
            execute(&client, sql, &[&seq, &lease_until, &shared.node]).await?
        }
        // What was rejected or removed meanwhile is given up in the next round, not when it is due.
        Verdict::Failed { error, again_at: Some(again_at) } => {
            let sql = "UPDATE webhook_deliveries AS d SET lease_until = NULL, node_id = NULL, \
                 attempts = attempts + 1, error_message = $4, \
                 due_at = coalesce($5::bigint, clock_ms()) + CASE WHEN EXISTS ( \
                     SELECT FROM webhook_endpoints AS e LEFT JOIN webhook_hosts AS h \
                     ON h.host = e.host WHERE e.client_id = d.client_id \
                     AND h.status IS DISTINCT FROM 'REJECTED') THEN $6::bigint ELSE 0 END \
                 WHERE seq = $1 AND lease_until = $2 AND node_id = $3";
            let (clock, wait) = (shared.claims_clock.at(now), number(again_at.since(now)));
            let lease: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                [&seq, &lease_until, &shared.node, error, &clock, &wait];
            execute(&client, sql, &lease).await?
        }
        Verdict::Failed { error, again_at: None } => {
            let sql = "UPDATE webhook_deliveries SET lease_until = NULL, node_id = NULL, \
                 attempts = attempts + 1, error_message = $4, due_at = NULL, failed_at = $5, \
                 failure_seq = nextval('webhook_failures') \
                 WHERE seq = $1 AND lease_until = $2 AND node_id = $3";
            let lease: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&seq, &lease_until, &shared.node, error, &millis(now)];
            execute(&client, sql, &lease).await?
        }
    };
    Ok(changed > 0)
}

/// Makes dead letters of what waits to be sent to a client. An attempt under way ends as it will. `clock`:
/// what stands for the database's.
pub(in crate::store::postgres) async fn give_up_client(
    tx: &Tx<'_>,
    client_id: &str,
    why: &str,
    (now, clock): (UnixMillis, Option<i64>),
) -> Done<()> {
    forget_replays(tx, client_id, clock).await?;
    give_up::give_up(tx, why, (now, clock), Among::Client(client_id)).await?;
    Ok(())
}

/// What may be sent of one client is leased; what may not is held or given up.
async fn lease_lane(
    shared: &Shared,
    tx: &Tx<'_>,
    Wanted { client_id, count }: &Wanted,
    times: Times,
    leased: &mut Vec<Leased>,
) -> Done<()> {
    match standing(tx, client_id).await? {
        Standing::Send => {}
        Standing::Hold => return forget_replays(tx, client_id, times.clock).await,
        Standing::GiveUp(why) => {
            return give_up_client(tx, client_id, why, (times.now, times.clock)).await;
        }
    }
    let to = destination(&Db::Transaction(tx), &shared.sealer, client_id, times.now).await?;
    let Some(to) = to else { return Ok(()) };
    let target = Arc::new(to.into_target());
    let due = due_of(tx, client_id, *count, times.clock).await?;
    let taken = rows(
        tx,
        "WITH clock AS MATERIALIZED (SELECT coalesce($2::bigint, clock_ms()) + $3 AS ends) \
         UPDATE webhook_deliveries AS d SET lease_until = clock.ends, due_at = clock.ends, \
         node_id = $4 FROM clock WHERE d.seq = ANY($1) \
         RETURNING d.seq, id, body, attempts, failed_at IS NOT NULL, lease_until, \
         d.parent_span",
        &[&due, &times.clock, &times.lease_ms, &shared.node],
    )
    .await?;
    let first = leased.len();
    for row in taken {
        leased.push(Leased {
            seq: row.try_get(0)?,
            id: row.try_get(1)?,
            client_id: client_id.clone(),
            body: row.try_get(2)?,
            attempts: u32::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u32::MAX),
            is_replay: row.try_get(4)?,
            lease_until: time(row.try_get(5)?),
            target: target.clone(),
            parent: row.try_get::<_, Option<&str>>(6)?.and_then(Parent::parse),
        });
    }
    // RETURNING has no order of its own.
    leased.get_mut(first..).unwrap_or_default().sort_by_key(|it| it.seq);
    Ok(())
}

/// The first that are due. What waited for the review of its host goes one by one, in order, whichever
/// nodes send it.
async fn due_of(tx: &Tx<'_>, client_id: &str, count: usize, clock: Option<i64>) -> Done<Vec<i64>> {
    let found = rows(
        tx,
        "WITH clock AS MATERIALIZED (SELECT coalesce($2::bigint, clock_ms()) AS now) \
         SELECT seq, held, held AND EXISTS ( \
             SELECT FROM webhook_deliveries AS o WHERE o.client_id = $1 AND o.held \
             AND o.lease_until > (SELECT now FROM clock)) \
         FROM webhook_deliveries WHERE client_id = $1 AND due_at <= (SELECT now FROM clock) \
         ORDER BY due_at, seq LIMIT $3 FOR UPDATE SKIP LOCKED",
        &[&client_id, &clock, &number(count)],
    )
    .await?;
    let mut due = Vec::new();
    for row in found {
        let (seq, held, waits): (i64, bool, bool) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
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

/// How a client stands, whose lane no other node leases from before this transaction ends.
async fn standing(tx: &Tx<'_>, client_id: &str) -> Done<Standing> {
    let found = row(
        tx,
        "SELECT h.status FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE e.client_id = $1 AND c.revoked_at IS NULL FOR NO KEY UPDATE OF e",
        &[&client_id],
    )
    .await?;
    let Some(found) = found else { return Ok(Standing::GiveUp(ENDPOINT_MISSING)) };
    Ok(match HostStatus::of(found.try_get(0)?) {
        HostStatus::Approved => Standing::Send,
        HostStatus::Pending => Standing::Hold,
        HostStatus::Rejected => Standing::GiveUp(HOST_REJECTED),
    })
}

/// Retries of dead letters that cannot be sent after all come to nothing. An attempt under way ends
/// as it will.
async fn forget_replays(tx: &Tx<'_>, client_id: &str, clock: Option<i64>) -> Done<()> {
    execute(
        tx,
        "UPDATE webhook_deliveries SET due_at = NULL, lease_until = NULL, node_id = NULL \
         WHERE client_id = $1 AND due_at IS NOT NULL AND failed_at IS NOT NULL \
         AND coalesce(lease_until, 0) <= coalesce($2::bigint, clock_ms())",
        &[&client_id, &clock],
    )
    .await?;
    Ok(())
}
