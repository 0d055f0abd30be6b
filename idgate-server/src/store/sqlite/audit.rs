//! The audit log, besides appending to it.

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::audit::{checkpoints, page, removal};
use super::super::cursor::List;
use super::super::db::at_one_moment;
use super::super::interface::{
    AuditPage, AuditStore, Caller, PageError, Read, SignedChains, UnwrittenCheckpoint, Write,
};
use super::super::lanes::Whose;
use super::super::readers::Reader;
use super::SqliteStore;

const LIST: List = List("cursor audit-log");

impl AuditStore for SqliteStore {
    fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        let (chain, keys) = (caller.client_id.clone(), self.audit.clone());
        let read = move |main: &Connection, before| {
            let chain = chain.as_str();
            at_one_moment(main, async |db| page::read(db, &keys, chain, before, limit).await)
        };
        let page = self.page(LIST, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (entries, next_cursor) = page.await?;
            Ok(AuditPage { entries, next_cursor })
        })
    }

    fn old_chains(&self, last: String, before: UnixMillis, limit: usize) -> Read<'_, Vec<String>> {
        let read = move |reader: &Reader| removal::old_chains(&reader.main, &last, before, limit);
        self.readers.read_long(Whose::GATEWAY, read)
    }

    fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>> {
        self.readers.read_long(Whose::GATEWAY, |reader| removal::newest(&reader.main))
    }

    fn hold_removals(&self, since: UnixMillis) -> Write<'_, ()> {
        self.writer.submit(move |batch| removal::hold(batch.main, since))
    }

    fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>> {
        self.readers.read(Whose::GATEWAY, |reader| removal::held_since(&reader.main))
    }

    fn remove_old_entries(
        &self,
        client_id: String,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.writer.submit(move |batch| {
            batch.chains.write()?;
            let keys = batch.audit_keys();
            removal::remove_old(batch.main, keys, &client_id, before, limit, now)
        })
    }

    fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains> {
        self.writer.submit(move |batch| {
            batch.chains.write()?;
            checkpoints::sign_due(batch.main, batch.audit_keys(), before, limit, now)
        })
    }

    fn unwritten_checkpoints(&self, limit: usize) -> Read<'_, Vec<UnwrittenCheckpoint>> {
        let read = move |reader: &Reader| checkpoints::unwritten(&reader.main, limit);
        self.readers.read_long(Whose::GATEWAY, read)
    }

    fn checkpoints_written(&self, written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.writer.submit(move |batch| checkpoints::mark_written(batch.main, &written))
    }
}
