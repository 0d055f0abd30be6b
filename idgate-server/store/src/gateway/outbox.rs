//! Notifications that wait to be sent. The lease clock decides when a lease ends. Callers give the
//! length of a lease by two times of their own clock, of which only the difference counts.

use std::sync::Arc;

use idgate_core::UnixMillis;
use tokio::sync::Notify;

use super::Store;
use crate::cursor::List;
use crate::db::Db;
use crate::lanes::LaneKey;
use crate::outbox::{dead_letters, give_up, pending, queue};
use crate::types::{
    Caller, DeadLetterPage, DeliveryResult, Lane, Leased, PageError, PendingPage, Read, Replay,
    Wanted, Write,
};

const LIST: List = List("cursor webhook-failures");
const PENDING: List = List("cursor webhook-pending");

/// Notifications.
impl Store {
    /// Rings after a commit that queued something to send. Operators' commands run in other
    /// processes and do not ring it.
    pub fn outbox_bell(&self) -> Arc<Notify> {
        self.env.outbox_bell.clone()
    }

    /// Makes every notification due that a process had leased when it died. For the start, before
    /// any other process can be sending.
    pub fn release_leases(&self, now: UnixMillis) -> Write<'_, usize> {
        self.write(LaneKey::GATEWAY, now, |now, db, env| Box::pin(queue::release(db, env, *now)))
    }

    /// Clients with notifications that are due at `now` and may be sent or given up, oldest first.
    pub fn due_lanes(&self, now: UnixMillis) -> Read<'_, Vec<Lane>> {
        self.read_long(LaneKey::GATEWAY, now, |now, db, env| {
            Box::pin(queue::due_lanes(db, env, *now))
        })
    }

    /// Leases notifications until `lease_until`, oldest first. The same transaction checks host and
    /// client: a notification that may not be sent is held or given up instead.
    pub fn lease(
        &self,
        mut wanted: Vec<Wanted>,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>> {
        // Every node locks in this order, so no two nodes wait for each other's lanes.
        wanted.sort_by(|one, other| one.client_id.cmp(&other.client_id));
        let with = (wanted, now, lease_until);
        self.change(LaneKey::GATEWAY, with, |(wanted, now, until), db, env| {
            Box::pin(queue::lease(db, env, wanted, (*now, *until)))
        })
    }

    /// Ends a lease with the result of the attempt. `false`: the lease was lost or the notification
    /// is gone, and nothing changed.
    pub fn end_lease(
        &self,
        seq: i64,
        lease_until: UnixMillis,
        verdict: DeliveryResult,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        let with = ((seq, lease_until), verdict, now);
        self.write(LaneKey::GATEWAY, with, |(lease, verdict, now), db, env| {
            Box::pin(queue::end(db, env, *lease, verdict, *now))
        })
    }

    /// Gives up at most `limit` notifications that have waited for a review of their host since
    /// `before` or longer. Returns how many.
    pub fn give_up_unreviewed(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.change(LaneKey::GATEWAY, (before, limit, now), |(before, limit, now), db, env| {
            let times = (*now, env.lease_clock(*now));
            Box::pin(give_up::unreviewed(db, *before, *limit, times))
        })
    }

    /// Removes at most `limit` dead letters older than `before`. Returns how many.
    pub fn remove_dead_letters(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(LaneKey::GATEWAY, (before, limit), |(before, limit), db, _| {
            Box::pin(dead_letters::remove(db, *before, *limit))
        })
    }

    /// At most `limit` dead letters of this caller and mode, newest first, from `cursor` on.
    pub fn dead_letters(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        let with = (caller.clone(), limit);
        let page = self.list_page(
            LIST,
            caller,
            (cursor, now),
            (with, |with, db, _| {
                let ((caller, limit), before) = with;
                Box::pin(dead_letters::page(db, caller, *before, *limit))
            }),
        );
        Box::pin(async move {
            let (letters, next_cursor) = page.await?;
            Ok(DeadLetterPage { letters, next_cursor })
        })
    }

    /// At most `limit` waiting notifications of this caller and mode, newest first, from `cursor`
    /// on.
    pub fn pending_notifications(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, PendingPage, PageError> {
        let with = (caller.clone(), limit, now);
        let page = self.list_page(
            PENDING,
            caller,
            (cursor, now),
            (with, |with, db, env| {
                Box::pin(async move {
                    let ((caller, limit, now), before) = with;
                    let now = env.lease_now(db, *now).await?;
                    pending::page(db, caller, *before, *limit, now).await
                })
            }),
        );
        Box::pin(async move {
            let (notifications, next_cursor) = page.await?;
            Ok(PendingPage { notifications, next_cursor })
        })
    }

    /// Requests one attempt to deliver a dead letter of this caller. `None`: no dead letter has
    /// that id.
    pub fn replay_dead_letter(
        &self,
        caller: &Caller,
        id: &str,
        now: UnixMillis,
    ) -> Write<'_, Option<Replay>> {
        let (lane, with) = (LaneKey::of(&caller.client_id), (caller.clone(), id.to_owned(), now));
        let replayed = self.write(lane, with, |(caller, id, now), db, env| {
            Box::pin(async move {
                let whose = Some((caller.client_id.as_str(), caller.livemode));
                let due_at = env.lease_now(db, *now).await?;
                let replayed = dead_letters::replay(db, id, whose, due_at).await?;
                // On PostgreSQL this is committed; SQLite's writer may still hold it in a group.
                if let Db::Client(_) = db {
                    env.outbox_bell.notify_one();
                }
                Ok(replayed)
            })
        });
        Box::pin(async move {
            let replayed = replayed.await?;
            self.env.outbox_bell.notify_one();
            Ok(replayed)
        })
    }
}
