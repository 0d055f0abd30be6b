//! It keeps no audit log.

use idgate_core::time::UnixMillis;

use super::MemoryStore;
use crate::store::{
    AuditPage, AuditStore, Caller, PageError, SignedChains, StoreError, UnwrittenCheckpoint, Write,
};

impl AuditStore for MemoryStore {
    fn audit_page(
        &self,
        _: &Caller,
        _: Option<&str>,
        _: usize,
        _: UnixMillis,
    ) -> Result<AuditPage, PageError> {
        Ok(AuditPage { entries: Vec::new(), next_cursor: None })
    }

    fn sign_checkpoints(&self, _: UnixMillis, _: usize, _: UnixMillis) -> Write<'_, SignedChains> {
        self.write(|_| SignedChains::default())
    }

    fn unwritten_checkpoints(&self, _: usize) -> Result<Vec<UnwrittenCheckpoint>, StoreError> {
        Ok(Vec::new())
    }

    fn checkpoints_written(&self, _: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.write(|_| ())
    }
}
