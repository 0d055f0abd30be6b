//! Notifications that wait to be sent: written with the settlement of the session, leased by one node at
//! a time.
//!
//! When a notification is due and when a lease ends is decided by the database's clock: callers say for
//! how long, in times of their own of which only the difference counts. `queued_at` and `failed_at` are
//! the callers' times.

pub(in crate::store) mod give_up;
pub(super) mod queue;

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use tokio::sync::Notify;

use super::super::cursor::List;
use super::super::db::Db;
use super::super::interface::{
    Caller, DeadLetterPage, Lane, Leased, OutboxStore, PageError, PendingPage, Read, Replay,
    Verdict, Wanted, Write,
};
use super::super::lanes::Whose;
use super::super::outbox::{HOST_REJECTED, Notice, dead_letters, pending};
use super::super::sql::millis;
use super::error::Done;
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::shared::Shared;
use super::sql::execute;

const LIST: List = List("cursor webhook-failures");
const PENDING: List = List("cursor webhook-pending");

/// Queues notifications, in their order, if their client has an endpoint. A host that is rejected makes
/// dead letters of them.
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
        each().map(|notice| shared.claims_clock.at(notice.settled_at)).collect();
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

/// Removes what a deleted session would still say.
pub(super) async fn remove_of_session(tx: &Tx<'_>, session_id: &str) -> Done<()> {
    execute(tx, "DELETE FROM webhook_deliveries WHERE session_id = $1", &[&session_id]).await?;
    Ok(())
}

impl OutboxStore for PostgresStore {
    fn outbox_bell(&self) -> Arc<Notify> {
        self.shared.outbox_bell.clone()
    }

    fn release_leases(&self, now: UnixMillis) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move { queue::release(&shared, now).await })
    }

    fn due_lanes(&self, now: UnixMillis) -> Read<'_, Vec<Lane>> {
        self.read(move |shared| async move { queue::due_lanes(&shared, now).await })
    }

    fn lease(
        &self,
        wanted: Vec<Wanted>,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>> {
        self.write(Whose::GATEWAY, move |shared| async move {
            queue::lease(&shared, wanted, now, lease_until).await
        })
    }

    fn end_lease(
        &self,
        seq: i64,
        lease_until: UnixMillis,
        verdict: Verdict,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        self.write(Whose::GATEWAY, move |shared| async move {
            queue::end(&shared, (seq, millis(lease_until)), &verdict, now).await
        })
    }

    fn give_up_unreviewed(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            give_up::give_up_unreviewed(&shared, before, limit, now).await
        })
    }

    fn remove_dead_letters(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            dead_letters::remove(&Db::Client(&shared.pool.client().await?), before, limit).await
        })
    }

    fn dead_letters(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        let of_caller = caller.clone();
        let read = move |shared: Arc<Shared>, before| async move {
            let client = shared.pool.client().await?;
            dead_letters::page(&Db::Client(&client), &of_caller, before, limit).await
        };
        let page = self.page(LIST, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (letters, next_cursor) = page.await?;
            Ok(DeadLetterPage { letters, next_cursor })
        })
    }

    fn pending_notifications(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, PendingPage, PageError> {
        let of_caller = caller.clone();
        let read = move |shared: Arc<Shared>, before| async move {
            let client = shared.pool.client().await?;
            let db = Db::Client(&client);
            let now = shared.clock_of(&db, now).await?;
            pending::page(&db, &of_caller, before, limit, now).await
        };
        let page = self.page(PENDING, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (notifications, next_cursor) = page.await?;
            Ok(PendingPage { notifications, next_cursor })
        })
    }

    fn replay_dead_letter(
        &self,
        caller: &Caller,
        id: &str,
        now: UnixMillis,
    ) -> Write<'_, Option<Replay>> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        self.write(whose, move |shared| async move {
            let of = Some((caller.client_id.as_str(), caller.livemode));
            let client = shared.pool.client().await?;
            let db = Db::Client(&client);
            let due_at = shared.clock_of(&db, now).await?;
            let replayed = dead_letters::replay(&db, &id, of, due_at).await?;
            shared.outbox_bell.notify_one();
            Ok(replayed)
        })
    }
}
