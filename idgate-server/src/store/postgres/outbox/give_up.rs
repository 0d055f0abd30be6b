//! Giving notifications up: what is leased by another node is left alone, and failures are numbered by a sequence.

use deadpool_postgres::GenericClient;
use idgate_core::time::UnixMillis;

use super::super::super::outbox::HOST_NOT_APPROVED;
use super::super::super::sql::{millis, number};
use super::super::error::Done;
use super::super::shared::Shared;
use super::super::sql::execute;

/// Whose notifications are given up.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) enum Among<'a> {
    /// Of this client.
    Client(&'a str),
    /// For endpoints on this host.
    Host(&'a str),
    /// For hosts without a review, queued at this time or before; at most so many.
    Unreviewed(UnixMillis, usize),
}

/// Turns queued notifications without a lease into dead letters, for the reason `why`, and says how many. `clock`
/// replaces the database's.
pub(in crate::store) async fn give_up(
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
