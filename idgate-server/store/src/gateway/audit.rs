//! The audit log. Entries are appended by the use cases that they record.

use idgate_core::UnixMillis;

use super::Store;
use crate::audit::{checkpoints, page, removal};
use crate::cursor::List;
use crate::lanes::LaneKey;
use crate::types::{AuditPage, Caller, PageError, Read, SignedChains, UnwrittenCheckpoint, Write};

const LIST: List = List("cursor audit-log");

/// The audit log.
impl Store {
    /// At most `limit` entries of this caller's chain, newest first, from `cursor` on.
    pub fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        let (lane, client_id) = (LaneKey::of(&caller.client_id), caller.client_id.clone());
        let read = move |before| -> Read<'_, _> {
            self.look(lane, (client_id, before, limit), |(client_id, before, limit), db, env| {
                Box::pin(page::read(db, &env.audit, client_id.as_str(), *before, *limit))
            })
        };
        let client_id = caller.client_id.as_str();
        let page = LIST.page(&self.env.sealer, client_id, (cursor, now), read);
        Box::pin(async move {
            let (entries, next_cursor) = page.await?;
            Ok(AuditPage { entries, next_cursor })
        })
    }

    /// At most `limit` chains whose first entry is older than `before`, in the order of their
    /// names, after `last`.
    pub fn old_chains(
        &self,
        last: String,
        before: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<String>> {
        self.read_long(LaneKey::GATEWAY, (last, before, limit), |(last, before, limit), db, _| {
            Box::pin(removal::old_chains(db, last, *before, *limit))
        })
    }

    /// Removes at most `limit` entries older than `before` from the beginning of a chain, and
    /// stores a signed record of it. Returns how many were removed.
    pub fn remove_old_entries(
        &self,
        client_id: String,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.change_chains((client_id, before, limit, now), |with, db, env| {
            let (client_id, before, limit, now) = with;
            Box::pin(removal::remove_old(db, &env.audit, client_id, (*before, *limit), *now))
        })
    }

    /// The time of the latest entry in all chains.
    pub fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>> {
        self.read_long(LaneKey::GATEWAY, (), |(), db, _| Box::pin(removal::newest(db)))
    }

    /// Notes that the ages of entries cannot be trusted because the clock was set. `since` is the
    /// time that it then showed.
    pub fn hold_removals(&self, since: UnixMillis) -> Write<'_, ()> {
        self.write(LaneKey::GATEWAY, since, |since, db, _| Box::pin(removal::hold(db, *since)))
    }

    /// The time of the last such note.
    pub fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>> {
        self.read(LaneKey::GATEWAY, (), |(), db, _| Box::pin(removal::held_since(db)))
    }

    /// Signs checkpoints for at most `limit` chains whose oldest unsigned entry is from `before` or
    /// earlier.
    pub fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains> {
        self.change_chains((before, limit, now), |(before, limit, now), db, env| {
            Box::pin(checkpoints::sign_due(db, &env.audit, *before, *limit, *now))
        })
    }

    /// At most `limit` checkpoints that are not in the checkpoint file yet.
    pub fn unwritten_checkpoints(&self, limit: usize) -> Read<'_, Vec<UnwrittenCheckpoint>> {
        self.read_long(LaneKey::GATEWAY, limit, |limit, db, _| {
            Box::pin(checkpoints::unwritten(db, *limit))
        })
    }

    /// Notes that the checkpoint file has these checkpoints on disk.
    pub fn checkpoints_written(&self, written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.write(LaneKey::GATEWAY, written, |written, db, _| {
            Box::pin(checkpoints::mark_written(db, written))
        })
    }
}
