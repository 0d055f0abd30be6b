//! Notifications that wait to be sent: written with the settlement of the session, and leased by
//! one node at a time.
//!
//! The database's clock decides when a notification is due and when a lease ends. Callers give
//! durations as two times of their own, of which only the difference counts. `queued_at` and
//! `failed_at` are the callers' times.

use super::error::Done;
use super::pool::Tx;
use super::shared::Shared;
use crate::outbox::{HOST_REJECTED, Notice};
use crate::postgres_statements::execute;
use crate::sql::millis;

/// Queues notifications in order if their client has an endpoint. If its host is rejected they
/// become dead letters.
pub(super) async fn insert(
    shared: &Shared,
    tx: &Tx<'_>,
    client_id: &str,
    notices: &[&Notice],
) -> Done<()> {
    if notices.is_empty() {
        return Ok(());
    }
    let each = || notices.iter();
    let ids: Vec<&str> = each().map(|notice| &*notice.id).collect();
    let sessions: Vec<&str> = each().map(|notice| &*notice.session_id).collect();
    let bodies: Vec<&str> = each().map(|notice| &*notice.body).collect();
    let queued: Vec<i64> = each().map(|notice| millis(notice.settled_at)).collect();
    let due: Vec<Option<i64>> =
        each().map(|notice| shared.env.lease_clock(notice.settled_at)).collect();
    execute(
        tx,
        "INSERT INTO webhook_deliveries (id, session_id, client_id, livemode, body, queued_at, \
         held, due_at, failed_at, failure_seq, error_message, parent_span) \
         SELECT n.id, n.session_id, e.client_id, e.livemode, n.body, n.queued_at, h.status IS NULL, \
         CASE WHEN h.status = 'REJECTED' THEN NULL ELSE coalesce(n.due_at, clock_ms()) END, \
         CASE WHEN h.status = 'REJECTED' THEN n.queued_at END, \
         CASE WHEN h.status = 'REJECTED' THEN nextval('webhook_failures') END, \
         CASE WHEN h.status = 'REJECTED' THEN $7::text END, \
         (SELECT s.parent_span FROM sessions AS s WHERE s.id = n.session_id) \
         FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) \
         WITH ORDINALITY AS n (id, session_id, body, queued_at, due_at, place) \
         WHERE e.client_id = $1 AND c.revoked_at IS NULL ORDER BY n.place",
        &[&client_id, &ids, &sessions, &bodies, &queued, &due, &HOST_REJECTED],
    )
    .await?;
    Ok(())
}

/// Removes the notifications of a deleted session.
pub(super) async fn remove_of_session(tx: &Tx<'_>, session_id: &str) -> Done<()> {
    execute(tx, "DELETE FROM webhook_deliveries WHERE session_id = $1", &[&session_id]).await?;
    Ok(())
}
