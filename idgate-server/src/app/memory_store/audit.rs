//! It keeps no audit log.

use idgate_core::time::UnixMillis;

use super::MemoryStore;
use crate::store::{
    AuditPage, AuditStore, Caller, PageError, Read, SignedChains, UnwrittenCheckpoint, Write,
};

impl AuditStore for MemoryStore {
    fn audit_page(
        &self,
        _: &Caller,
        _: Option<&str>,
        _: usize,
        _: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        Box::pin(async { Ok(AuditPage { entries: Vec::new(), next_cursor: None }) })
    }

    fn old_chains(&self, _: String, _: UnixMillis, _: usize) -> Read<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>> {
        Box::pin(async { Ok(None) })
    }

    fn hold_removals(&self, _: UnixMillis) -> Write<'_, ()> {
        self.write(|_| ())
    }

    fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>> {
        Box::pin(async { Ok(None) })
    }

    fn remove_old_entries(
        &self,
        _: String,
        _: UnixMillis,
        _: usize,
        _: UnixMillis,
    ) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn sign_checkpoints(&self, _: UnixMillis, _: usize, _: UnixMillis) -> Write<'_, SignedChains> {
        self.write(|_| SignedChains::default())
    }

    fn unwritten_checkpoints(&self, _: usize) -> Read<'_, Vec<UnwrittenCheckpoint>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn checkpoints_written(&self, _: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.write(|_| ())
    }
}
