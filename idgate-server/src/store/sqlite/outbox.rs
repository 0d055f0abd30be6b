//! Notifications that wait to be sent.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::super::cursor::List;
use super::super::db::{Db, at_once};
use super::super::interface::{
    Caller, DeadLetterPage, Lane, Leased, OutboxStore, PageError, PendingPage, Read, Replay,
    Verdict, Wanted, Write,
};
use super::super::lanes::Whose;
use super::super::outbox::{dead_letters, pending, queue};
use super::super::sql::millis;
use super::SqliteStore;

const LIST: List = List("cursor webhook-failures");
const PENDING: List = List("cursor webhook-pending");

impl OutboxStore for SqliteStore {
    fn outbox_bell(&self) -> Arc<Notify> {
        self.outbox_bell.clone()
    }

    fn release_leases(&self, now: UnixMillis) -> Write<'_, usize> {
        self.writer.submit(move |batch| queue::release(batch.main, now))
    }

    fn due_lanes(&self, now: UnixMillis) -> Read<'_, Vec<Lane>> {
        self.readers.read_long(Whose::GATEWAY, move |reader| queue::due_lanes(&reader.main, now))
    }

    fn lease(
        &self,
        wanted: Vec<Wanted>,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>> {
        let sealer = self.sealer.clone();
        self.writer
            .submit(move |batch| queue::lease(batch.main, &sealer, &wanted, now, lease_until))
    }

    fn end_lease(
        &self,
        seq: i64,
        lease_until: UnixMillis,
        verdict: Verdict,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        self.writer.submit(move |batch| queue::end(batch.main, seq, lease_until, &verdict, now))
    }

    fn give_up_unreviewed(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.writer.submit(move |batch| queue::give_up_unreviewed(batch.main, before, limit, now))
    }

    fn remove_dead_letters(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit(move |batch| {
            at_once(dead_letters::remove(&Db::sqlite(batch.main), before, limit))
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
        let read = move |main: &Connection, before| {
            at_once(dead_letters::page(&Db::sqlite(main), &of_caller, before, limit))
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
        let read = move |main: &Connection, before| {
            let db = Db::sqlite(main);
            at_once(pending::page(&db, &of_caller, before, limit, millis(now)))
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
        let replayed = self.writer.submit_for(whose, move |batch| {
            let whose = Some((caller.client_id.as_str(), caller.livemode));
            at_once(dead_letters::replay(&Db::sqlite(batch.main), &id, whose, millis(now)))
        });
        Box::pin(async move {
            let replayed = replayed.await?;
            self.outbox_bell.notify_one();
            Ok(replayed)
        })
    }
}
