//! The audit log as a gateway asks for it.

use std::sync::Arc;

use idgate_core::time::UnixMillis;

use super::super::cursor::List;
use super::super::interface::{
    AuditPage, AuditStore, Caller, PageError, Read, SignedChains, UnwrittenCheckpoint, Write,
};
use super::super::lanes::Whose;
use super::audit::{self, checkpoints, page, removal};
use super::gateway::PostgresStore;
use super::shared::Shared;

const LIST: List = List("cursor audit-log");

impl AuditStore for PostgresStore {
    fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        let chain = caller.client_id.as_str().to_owned();
        let read = move |shared: Arc<Shared>, before| async move {
            page::read(&shared, &chain, before, limit).await
        };
        let page = self.page(LIST, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (entries, next_cursor) = page.await?;
            Ok(AuditPage { entries, next_cursor })
        })
    }

    fn old_chains(&self, last: String, before: UnixMillis, limit: usize) -> Read<'_, Vec<String>> {
        self.read(
            move |shared| async move { removal::old_chains(&shared, &last, before, limit).await },
        )
    }

    fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>> {
        self.read(|shared| async move { removal::newest(&shared).await })
    }

    fn hold_removals(&self, since: UnixMillis) -> Write<'_, ()> {
        self.write(Whose::GATEWAY, move |shared| async move { removal::hold(&shared, since).await })
    }

    fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>> {
        self.read(|shared| async move { removal::held_since(&shared).await })
    }

    fn remove_old_entries(
        &self,
        client_id: String,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            removal::remove_old(&shared, &client_id, before, limit, now).await
        })
    }

    fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains> {
        self.write(Whose::GATEWAY, move |shared| async move {
            audit::sign_due(&shared.pool, &shared.audit, before, limit, now).await
        })
    }

    fn unwritten_checkpoints(&self, limit: usize) -> Read<'_, Vec<UnwrittenCheckpoint>> {
        self.read(move |shared| async move { checkpoints::unwritten(&shared, limit).await })
    }

    fn checkpoints_written(&self, written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.write(Whose::GATEWAY, move |shared| async move {
            checkpoints::mark_written(&shared, &written).await
        })
    }
}
