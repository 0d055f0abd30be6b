//! The audit log in SQLite: entries are appended in the transaction that makes the change, in the
//! order in which changes are committed, whichever process makes them.

mod checkpoints;
mod export;
mod head;
mod page;
mod removal;
mod verify;

use std::collections::BTreeMap;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

pub use self::checkpoints::{SignedChains, UnwrittenCheckpoint};
pub use self::export::ExportError;
pub(super) use self::head::{Head, total};
pub use self::page::{AuditPage, ListedEntry};
pub use self::verify::AuditReport;
pub(super) use self::verify::Auditor;
use super::cursor::List;
use super::lanes::Whose;
use super::readers::Reader;
use super::{Caller, PageError, Read, SqliteStore, StoreError, Write};
use crate::audit::{AuditEvent, AuditKeys};

/// Entries of a chain that one checkpoint leaves uncovered at most.
const CHECKPOINT_EVERY: u64 = 1000;

const LIST: List = List("cursor audit-log");

/// Appends `event` to the chain of `client_id`. To be called inside a write transaction (IMMEDIATE),
/// in which the change itself is made, too.
///
/// # Errors
/// As [`Chains::append`].
pub(super) fn append(
    main: &Connection,
    keys: &AuditKeys,
    client_id: &str,
    event: AuditEvent,
) -> Result<(), StoreError> {
    let mut chains = Chains::new(main, keys);
    chains.append(client_id, event)?;
    chains.write()
}

/// The chains that one write transaction (IMMEDIATE) appends to. Where they end is read with the
/// first entry of each, and written once, however many entries there were.
pub(super) struct Chains<'c> {
    main: &'c Connection,
    keys: &'c AuditKeys,
    heads: BTreeMap<String, Head>,
    /// Entries of all chains; `None`: nothing was appended since the last [`Chains::write`].
    total: Option<u64>,
}

impl<'c> Chains<'c> {
    pub(super) fn new(main: &'c Connection, keys: &'c AuditKeys) -> Self {
        Self { main, keys, heads: BTreeMap::new(), total: None }
    }

    /// Appends `event` to the chain of `client_id`; of no effect before [`Chains::write`].
    ///
    /// # Errors
    /// The database failed, or the chain's head or the number of all entries is not what the
    /// instance wrote: then nothing more can be recorded for this client, so nothing more is done
    /// for it.
    pub(super) fn append(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
        let (main, keys) = (self.main, self.keys);
        let total = match self.total {
            Some(total) => total,
            None => total(main, keys)?.ok_or_else(|| StoreError::Failed(altered("any client")))?,
        };
        let mut head = match self.heads.remove(client_id) {
            Some(head) => head,
            None => Head::read(main, keys, client_id)?,
        };
        let now = event.occurred_at();
        head.append(main, event)?;
        // What was altered is not signed for; whoever signs what is due says so.
        if head.seq.saturating_sub(head.checkpoint_seq) >= CHECKPOINT_EVERY
            && checkpoints::is_last_intact(main, &head)?
        {
            head.checkpoint(main, keys, now)?;
        }
        self.heads.insert(client_id.to_owned(), head);
        self.total = Some(total.saturating_add(1));
        Ok(())
    }

    /// Writes where the chains end now.
    ///
    /// # Errors
    /// The database failed.
    pub(super) fn write(&mut self) -> Result<(), StoreError> {
        for head in std::mem::take(&mut self.heads).values() {
            head.write(self.main, self.keys)?;
        }
        match self.total.take() {
            Some(total) => head::write_total(self.main, self.keys, total),
            None => Ok(()),
        }
    }

    /// Forgets what was appended since the last [`Chains::write`]; its rows are rolled back.
    pub(super) fn forget(&mut self) {
        self.heads.clear();
        self.total = None;
    }
}

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

impl AuditStore for SqliteStore {
    fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, AuditPage, PageError> {
        let client_id = caller.client_id.as_str().to_owned();
        let before = LIST.start(&self.sealer, &client_id, cursor, now);
        Box::pin(async move {
            let (before, chain, keys) = (before?, client_id.clone(), self.audit.clone());
            let read =
                move |reader: &Reader| page::read(&reader.main, &keys, &chain, before, limit);
            let (entries, more) = self.readers.read_long(Whose::of(&*client_id), read).await?;
            let next_cursor =
                more.map(|last| LIST.cursor(&self.sealer, &client_id, last, now)).transpose()?;
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

impl SignedChains {
    /// What an operator must know.
    ///
    /// # Errors
    /// A chain was altered.
    pub fn all(self) -> Result<usize, StoreError> {
        match self.altered.first() {
            None => Ok(self.signed),
            Some(_) => Err(StoreError::Failed(altered(&self.altered.join(", ")))),
        }
    }
}

fn altered(whose: &str) -> String {
    format!(
        "the audit log of {whose} was altered outside idgate, so nothing can be added to it; \
         `idgate audit verify` says where, and a backup has it as it was"
    )
}

fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
