//! What is due, who is at it, and how it ended.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::db::{Db, at_once};
use super::super::interface::{HostStatus, Lane, Leased, StoreError, Verdict, Wanted};
use super::super::sql::{millis, number};
use super::super::webhook_endpoints;
use super::{ENDPOINT_MISSING, GIVE_UP, HOST_NOT_APPROVED, HOST_REJECTED};
use crate::seal::Sealer;
use crate::spans::Parent;

/// What may be done with a client's notifications.
enum Standing {
    Send,
    Hold,
    GiveUp(&'static str),
}

/// Before whatever was queued later, so that what is released in order stays in order.
pub(in crate::store) fn release(main: &Connection, now: UnixMillis) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "UPDATE webhook_deliveries SET lease_until = NULL, due_at = min(queued_at, ?1) \
             WHERE lease_until IS NOT NULL",
        )?
        .execute([millis(now)])?)
}

/// Steps from client to client along the index, however much each has waiting.
pub(in crate::store) fn due_lanes(
    main: &Connection,
    now: UnixMillis,
) -> Result<Vec<Lane>, StoreError> {
    let mut statement = main.prepare_cached(
        "WITH RECURSIVE lane (client_id) AS ( \
             SELECT min(client_id) FROM webhook_deliveries WHERE due_at IS NOT NULL \
             UNION ALL \
             SELECT (SELECT min(d.client_id) FROM webhook_deliveries AS d \
                     WHERE d.due_at IS NOT NULL AND d.client_id > lane.client_id) \
             FROM lane WHERE lane.client_id IS NOT NULL \
         ) \
         SELECT lane.client_id, coalesce(e.host, ''), d.held \
         FROM lane JOIN webhook_deliveries AS d ON d.seq = ( \
             SELECT f.seq FROM webhook_deliveries AS f \
             WHERE f.client_id = lane.client_id AND f.due_at <= ?1 ORDER BY f.due_at, f.seq LIMIT 1) \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = lane.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         JOIN clients AS c ON c.id = lane.client_id \
         WHERE h.status IS NOT NULL OR e.host IS NULL OR c.revoked_at IS NOT NULL \
             OR d.failed_at IS NOT NULL \
         ORDER BY d.due_at, d.seq",
    )?;
    let rows = statement.query_map([millis(now)], |row| {
        Ok(Lane { client_id: row.get(0)?, host: row.get(1)?, held: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(in crate::store) fn lease(
    main: &Connection,
    sealer: &Sealer,
    wanted: &[Wanted],
    now: UnixMillis,
    lease_until: UnixMillis,
) -> Result<Vec<Leased>, StoreError> {
    let mut leased = Vec::new();
    for Wanted { client_id, count } in wanted {
        match standing(main, client_id)? {
            Standing::Send => {
                lease_lane(main, sealer, (client_id, *count), now, lease_until, &mut leased)?;
            }
            Standing::Hold => forget_replays(main, client_id, now)?,
            Standing::GiveUp(why) => give_up_client(main, client_id, why, now)?,
        }
    }
    Ok(leased)
}

pub(in crate::store) fn end(
    main: &Connection,
    seq: i64,
    lease_until: UnixMillis,
    verdict: &Verdict,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let lease = (seq, millis(lease_until));
    let changed = match verdict {
        Verdict::Delivered => main
            .prepare_cached("DELETE FROM webhook_deliveries WHERE seq = ?1 AND lease_until = ?2")?
            .execute(lease)?,
        Verdict::Failed { error, again_at: Some(again_at) } => main
            .prepare_cached(
                "UPDATE webhook_deliveries SET lease_until = NULL, attempts = attempts + 1, \
                 error_message = ?3, due_at = iif(EXISTS (SELECT 1 FROM webhook_endpoints AS e \
                 LEFT JOIN webhook_hosts AS h ON h.host = e.host \
                 WHERE e.client_id = webhook_deliveries.client_id \
                 AND h.status IS NOT 'REJECTED'), ?4, ?5) \
                 WHERE seq = ?1 AND lease_until = ?2",
            )?
            // What was rejected or removed meanwhile is given up in the next round, not when it
            // is due.
            .execute((lease.0, lease.1, error, millis(*again_at), millis(now)))?,
        Verdict::Failed { error, again_at: None } => main
            .prepare_cached(
                "UPDATE webhook_deliveries SET lease_until = NULL, attempts = attempts + 1, \
                 error_message = ?3, due_at = NULL, failed_at = ?4, failure_seq = \
                 (SELECT coalesce(max(failure_seq), 0) + 1 FROM webhook_deliveries) \
                 WHERE seq = ?1 AND lease_until = ?2",
            )?
            .execute((lease.0, lease.1, error, millis(now)))?,
    };
    Ok(changed > 0)
}

/// Makes dead letters of what waits to be sent to a client. An attempt under way ends as it will.
pub(in crate::store) fn give_up_client(
    main: &Connection,
    client_id: &str,
    why: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    forget_replays(main, client_id, now)?;
    let statement = format!("{GIVE_UP} AND client_id = ?3");
    main.prepare_cached(&statement)?.execute((millis(now), why, client_id))?;
    Ok(())
}

pub(in crate::store) fn give_up_unreviewed(
    main: &Connection,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let statement = format!(
        "{GIVE_UP} AND seq IN (SELECT d.seq FROM webhook_deliveries AS d \
         JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE d.failed_at IS NULL AND d.queued_at <= ?3 AND h.status IS NULL \
         ORDER BY d.queued_at LIMIT ?4)"
    );
    let mut statement = main.prepare_cached(&statement)?;
    Ok(statement.execute((millis(now), HOST_NOT_APPROVED, millis(before), number(limit)))?)
}

fn standing(main: &Connection, client_id: &str) -> Result<Standing, StoreError> {
    let found = main
        .prepare_cached(
            "SELECT h.status FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE e.client_id = ?1 AND c.revoked_at IS NULL",
        )?
        .query_row([client_id], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    Ok(match found {
        None => Standing::GiveUp(ENDPOINT_MISSING),
        Some(status) => match HostStatus::of(status.as_deref()) {
            HostStatus::Approved => Standing::Send,
            HostStatus::Pending => Standing::Hold,
            HostStatus::Rejected => Standing::GiveUp(HOST_REJECTED),
        },
    })
}

fn lease_lane(
    main: &Connection,
    sealer: &Sealer,
    (client_id, count): (&str, usize),
    now: UnixMillis,
    lease_until: UnixMillis,
    leased: &mut Vec<Leased>,
) -> Result<(), StoreError> {
    let Some(to) =
        at_once(webhook_endpoints::destination(&Db::sqlite(main), sealer, client_id, now))?
    else {
        return Ok(());
    };
    let target = Arc::new(to.into_target());
    let count = number(count);
    let mut statement = main.prepare_cached(
        "UPDATE webhook_deliveries SET lease_until = ?4, due_at = ?4 WHERE seq IN ( \
             SELECT seq FROM webhook_deliveries WHERE client_id = ?1 AND due_at <= ?2 \
             ORDER BY due_at, seq LIMIT ?3) \
         RETURNING seq, id, body, attempts, failed_at IS NOT NULL, parent_span",
    )?;
    let rows =
        statement.query_map((client_id, millis(now), count, millis(lease_until)), |row| {
            Ok(Leased {
                seq: row.get(0)?,
                id: row.get(1)?,
                client_id: client_id.to_owned(),
                body: row.get(2)?,
                attempts: row.get(3)?,
                is_replay: row.get(4)?,
                lease_until,
                target: target.clone(),
                parent: row.get::<_, Option<String>>(5)?.as_deref().and_then(Parent::parse),
            })
        })?;
    let first = leased.len();
    for row in rows {
        leased.push(row?);
    }
    // RETURNING has no order of its own.
    leased.get_mut(first..).unwrap_or_default().sort_by_key(|it| it.seq);
    Ok(())
}

/// Retries of dead letters that cannot be sent after all come to nothing. An attempt under way ends
/// as it will.
fn forget_replays(main: &Connection, client_id: &str, now: UnixMillis) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE webhook_deliveries SET due_at = NULL, lease_until = NULL \
         WHERE client_id = ?1 AND due_at IS NOT NULL AND failed_at IS NOT NULL \
         AND coalesce(lease_until, 0) <= ?2",
    )?
    .execute((client_id, millis(now)))?;
    Ok(())
}
