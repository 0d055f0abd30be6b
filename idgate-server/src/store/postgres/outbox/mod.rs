//! Notifications that wait to be sent.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use tokio::sync::Notify;

use super::super::interface::{
    Caller, DeadLetterPage, Lane, Leased, OutboxStore, PageError, Read, Replay, Verdict, Wanted,
    Write,
};
use super::super::outbox::Notice;
use super::PostgresStore;
use super::error::{Done, Failure};
use super::pool::Tx;

/// Queues a notification if its client has an endpoint. A host that is rejected makes it a dead letter.
pub(super) async fn insert(_tx: &Tx<'_>, _notice: &Notice) -> Done<()> {
    Ok(())
}

/// Removes what a deleted session would still say.
pub(super) async fn remove_of_session(_tx: &Tx<'_>, _session_id: &str) -> Done<()> {
    Ok(())
}

impl OutboxStore for PostgresStore {
    fn outbox_bell(&self) -> Arc<Notify> {
        self.shared.outbox_bell.clone()
    }

    fn release_leases(&self, _now: UnixMillis) -> Write<'_, usize> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn due_lanes(&self, _now: UnixMillis) -> Read<'_, Vec<Lane>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn lease(
        &self,
        _wanted: Vec<Wanted>,
        _now: UnixMillis,
        _lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn end_lease(
        &self,
        _seq: i64,
        _lease_until: UnixMillis,
        _verdict: Verdict,
        _now: UnixMillis,
    ) -> Write<'_, bool> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn give_up_unreviewed(
        &self,
        _before: UnixMillis,
        _limit: usize,
        _now: UnixMillis,
    ) -> Write<'_, usize> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn remove_dead_letters(&self, _before: UnixMillis, _limit: usize) -> Write<'_, usize> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn dead_letters(
        &self,
        _caller: &Caller,
        _cursor: Option<&str>,
        _limit: usize,
        _now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        Box::pin(async { Err(PageError::Cursor) })
    }

    fn replay_dead_letter(
        &self,
        _caller: &Caller,
        _id: &str,
        _now: UnixMillis,
    ) -> Write<'_, Option<Replay>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }
}
