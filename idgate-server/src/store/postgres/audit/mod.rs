//! The audit log: one chain per client, its head locked by whoever appends.

use idgate_core::time::UnixMillis;

use super::super::interface::{
    AuditPage, AuditStore, Caller, PageError, Read, SignedChains, UnwrittenCheckpoint, Write,
};
use super::error::{Done, Failure};
use super::pool::Tx;
use super::{PostgresStore, Shared};
use crate::audit::{AuditEvent, AuditKeys};

/// What has to be there before the first entry.
pub(super) async fn begin(_shared: &Shared) -> Done<()> {
    Ok(())
}

/// Appends `event` to the chain of `client_id`, whose head stays locked until the transaction ends.
pub(in crate::store) async fn append(
    _tx: &Tx<'_>,
    _keys: &AuditKeys,
    _client_id: &str,
    _event: AuditEvent,
) -> Done<()> {
    Ok(())
}

impl AuditStore for PostgresStore {
    fn audit_page(
        &self,
        _caller: &Caller,
        _cursor: Option<&str>,
        _limit: usize,
        _now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        Box::pin(async { Err(PageError::Cursor) })
    }

    fn old_chains(
        &self,
        _last: String,
        _before: UnixMillis,
        _limit: usize,
    ) -> Read<'_, Vec<String>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn hold_removals(&self, _since: UnixMillis) -> Write<'_, ()> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn remove_old_entries(
        &self,
        _client_id: String,
        _before: UnixMillis,
        _limit: usize,
        _now: UnixMillis,
    ) -> Write<'_, usize> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn sign_checkpoints(
        &self,
        _before: UnixMillis,
        _limit: usize,
        _now: UnixMillis,
    ) -> Write<'_, SignedChains> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn unwritten_checkpoints(&self, _limit: usize) -> Read<'_, Vec<UnwrittenCheckpoint>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn checkpoints_written(&self, _written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }
}
