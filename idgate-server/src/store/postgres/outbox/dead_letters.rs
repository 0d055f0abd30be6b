//! Notifications that were given up: listed, retried on demand, removed after a while.

use deadpool_postgres::GenericClient;
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::super::interface::{Caller, DeadLetter, HostStatus, Replay};
use super::super::super::outbox::HOST_NOT_APPROVED;
use super::super::super::sql::{millis, number, one_more, page_of, time};
use super::super::error::Done;
use super::super::shared::Shared;
use super::super::sql::{execute, row, rows};

const COLUMNS: &str =
    "id, session_id, client_id, body, error_message, attempts, failed_at, failure_seq";

/// Whose notifications are given up.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::postgres) enum Among<'a> {
    /// Of this client.
    Client(&'a str),
    /// For endpoints on this host.
    Host(&'a str),
    /// For hosts that nobody reviewed, queued at this time or before; at most so many.
    Unreviewed(UnixMillis, usize),
}

/// Makes dead letters of what is queued and not leased, for the reason `why`, and says how many. `clock`:
/// what stands for the database's.
pub(in crate::store::postgres) async fn give_up(
    on: &impl GenericClient,
    why: &str,
    (now, clock): (UnixMillis, Option<i64>),
    among: Among<'_>,
) -> Done<usize> {
    let (client_id, host, queued, limit) = match among {
        Among::Client(id) => (Some(id), None, None, None),
        Among::Host(host) => (None, Some(host), None, None),
        Among::Unreviewed(before, limit) => (None, None, Some(millis(before)), Some(number(limit))),
    };
    let given_up = execute(
        on,
        "WITH given_up AS ( \
             SELECT d.seq FROM webhook_deliveries AS d \
             LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE d.failed_at IS NULL \
             AND coalesce(d.lease_until, 0) <= coalesce($3::bigint, clock_ms()) \
             AND ($4::text IS NULL OR d.client_id = $4) AND ($5::text IS NULL OR e.host = $5) \
             AND ($6::bigint IS NULL OR (d.queued_at <= $6 AND e.host IS NOT NULL \
                  AND h.status IS NULL)) \
             ORDER BY d.seq LIMIT $7 FOR UPDATE OF d SKIP LOCKED), \
         numbered AS (SELECT seq, nextval('webhook_failures') AS failure FROM given_up) \
         UPDATE webhook_deliveries AS d SET due_at = NULL, lease_until = NULL, node_id = NULL, \
         failed_at = $1, error_message = $2, failure_seq = numbered.failure \
         FROM numbered WHERE d.seq = numbered.seq",
        &[&millis(now), &why, &clock, &client_id, &host, &queued, &limit],
    )
    .await?;
    Ok(usize::try_from(given_up).unwrap_or(usize::MAX))
}

pub(super) async fn give_up_unreviewed(
    shared: &Shared,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Done<usize> {
    let client = shared.pool.client().await?;
    let times = (now, shared.claims_clock.at(now));
    give_up(&client, HOST_NOT_APPROVED, times, Among::Unreviewed(before, limit)).await
}

/// Marks a dead letter, of this client and mode if given, for one attempt. What is marked already
/// stays as it is. `clock`: what stands for the database's.
pub(in crate::store::postgres) async fn replay(
    on: &impl GenericClient,
    id: &str,
    whose: Option<(&str, bool)>,
    clock: Option<i64>,
) -> Done<Option<Replay>> {
    let (client_id, livemode) = whose.unzip();
    let found = row(
        on,
        "SELECT d.seq, d.session_id, h.status, c.revoked_at IS NOT NULL \
         FROM webhook_deliveries AS d JOIN clients AS c ON c.id = d.client_id \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE d.id = $1 AND d.failed_at IS NOT NULL \
         AND d.client_id = coalesce($2, d.client_id) AND d.livemode = coalesce($3, d.livemode)",
        &[&id, &client_id, &livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let (seq, session_id): (i64, String) = (found.try_get(0)?, found.try_get(1)?);
    let status = HostStatus::of(found.try_get(2)?);
    let is_sent = status == HostStatus::Approved && !found.try_get::<_, bool>(3)?;
    if is_sent {
        execute(
            on,
            "UPDATE webhook_deliveries SET due_at = coalesce(due_at, $2::bigint, clock_ms()) \
             WHERE seq = $1 AND failed_at IS NOT NULL",
            &[&seq, &clock],
        )
        .await?;
    }
    Ok(Some(Replay { id: id.to_owned(), session_id, is_sent }))
}

pub(super) async fn remove(shared: &Shared, before: UnixMillis, limit: usize) -> Done<usize> {
    let client = shared.pool.client().await?;
    let removed = execute(
        &client,
        "DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries \
         WHERE failed_at <= $1 AND lease_until IS NULL ORDER BY failed_at LIMIT $2 \
         FOR UPDATE SKIP LOCKED)",
        &[&millis(before), &number(limit)],
    )
    .await?;
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}

/// At most `limit` dead letters older than `before`, and the position of the last if there are more.
pub(super) async fn page(
    shared: &Shared,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Done<(Vec<DeadLetter>, Option<i64>)> {
    let client = shared.pool.client().await?;
    let sql = format!(
        "SELECT {COLUMNS} FROM webhook_deliveries WHERE client_id = $1 AND livemode = $2 \
         AND failed_at IS NOT NULL AND failure_seq < $3 ORDER BY failure_seq DESC LIMIT $4"
    );
    let of_caller = (caller.client_id.as_str(), caller.livemode);
    let found =
        rows(&client, &sql, &[&of_caller.0, &of_caller.1, &before, &one_more(limit)]).await?;
    let letters = found.iter().map(from_row).collect::<Done<Vec<_>>>()?;
    Ok(page_of(letters, limit))
}

/// All dead letters, newest first.
pub(in crate::store::postgres) async fn all(on: &impl GenericClient) -> Done<Vec<DeadLetter>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM webhook_deliveries WHERE failed_at IS NOT NULL \
         ORDER BY failure_seq DESC"
    );
    let found = rows(on, &sql, &[]).await?;
    found.iter().map(|row| from_row(row).map(|(letter, _)| letter)).collect()
}

fn from_row(row: &Row) -> Done<(DeadLetter, i64)> {
    let letter = DeadLetter {
        id: row.try_get(0)?,
        session_id: row.try_get(1)?,
        client_id: row.try_get(2)?,
        payload: row.try_get(3)?,
        error_message: row.try_get(4)?,
        attempts: u32::try_from(row.try_get::<_, i64>(5)?).unwrap_or(u32::MAX),
        failed_at: time(row.try_get(6)?),
    };
    Ok((letter, row.try_get(7)?))
}
