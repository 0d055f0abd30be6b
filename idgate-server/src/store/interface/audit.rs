//! The audit log, besides appending to it: entries are appended by the use cases that they tell of.

use idgate_core::time::UnixMillis;

use super::{Caller, PageError, Read, Write};
use crate::audit::AuditEntry;

/// What a running gateway does with the audit log besides appending to it.
pub trait AuditStore {
    /// At most `limit` entries of this caller's chain, newest first, from `cursor` on.
    fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError>;

    /// Chains, at most `limit`, that begin with an entry from before `before`, in the order of their
    /// names, from the one that follows `last` on.
    fn old_chains(&self, last: String, before: UnixMillis, limit: usize) -> Read<'_, Vec<String>>;

    /// Removes at most `limit` entries of a chain from before `before`, from its beginning, behind a
    /// signed record; says how many.
    fn remove_old_entries(
        &self,
        client_id: String,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize>;

    /// When the latest entry of all chains was made.
    fn newest_audit_entry(&self) -> Read<'_, Option<UnixMillis>>;

    /// Notes that ages cannot be trusted: the clock was set at `since`, as it says itself.
    fn hold_removals(&self, since: UnixMillis) -> Write<'_, ()>;

    /// What was last noted so.
    fn removals_held_since(&self) -> Read<'_, Option<UnixMillis>>;

    /// Signs checkpoints of the chains, at most `limit`, that have had entries without one since
    /// `before` or longer.
    fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains>;

    /// At most `limit` checkpoints that the checkpoint file does not have yet.
    fn unwritten_checkpoints(&self, limit: usize) -> Read<'_, Vec<UnwrittenCheckpoint>>;

    /// Notes that the checkpoint file has these for good.
    fn checkpoints_written(&self, written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()>;
}

/// One entry of a list.
#[derive(Clone, Debug)]
pub struct ListedEntry {
    /// `None`: what is stored is not an entry.
    pub entry: Option<AuditEntry>,
    /// Lower-case hex.
    pub prev_hash: String,
    /// Lower-case hex.
    pub entry_hash: String,
    /// Whether its own hash recomputes and its `prev_hash` is its predecessor's hash.
    pub chain_intact: bool,
}

/// Part of a list.
#[derive(Clone, Debug)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<ListedEntry>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A checkpoint that the checkpoint file does not have yet.
#[derive(Clone, Debug)]
pub struct UnwrittenCheckpoint {
    /// Whose chain.
    pub client_id: String,
    /// Its last entry.
    pub seq: u64,
    /// One line of JSON.
    pub line: String,
}

/// What came of signing the chains that are due.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SignedChains {
    /// How many have a new checkpoint.
    pub signed: usize,
    /// Whose head is not what the instance wrote: for them nothing is signed any more.
    pub altered: Vec<String>,
}
