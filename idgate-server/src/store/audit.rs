//! The audit log in SQLite: entries are appended in the transaction that makes the change, in the
//! order in which changes are committed, whichever process makes them.

pub(super) mod checkpoints;
mod export;
pub(super) mod head;
pub(super) mod heads;
pub(super) mod page;
pub(super) mod proof;
pub(super) mod removal;
pub(super) mod report;
pub(super) mod rows;

use std::collections::BTreeMap;

use rusqlite::Connection;

pub use self::export::ExportError;
pub(super) use self::head::Head;
pub use self::report::AuditReport;
pub(super) use self::rows::Rows;
use super::db::{Db, at_once};
use super::types::{SignedChains, StoreError};
use crate::audit::{AuditEvent, AuditKeys};

/// Entries of a chain that one checkpoint leaves uncovered at most.
pub(super) const CHECKPOINT_EVERY: u64 = 1000;

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
            None => at_once(heads::total(&Db::sqlite(main), keys))?
                .ok_or_else(|| StoreError::Failed(altered("any client")))?,
        };
        let mut head = match self.heads.remove(client_id) {
            Some(head) => head,
            None => Head::read(main, keys, client_id)?,
        };
        let now = event.occurred_at();
        head.append(main, event)?;
        // What was altered is not signed for; whoever signs what is due says so.
        if head.seq.saturating_sub(head.checkpoint_seq) >= CHECKPOINT_EVERY
            && at_once(checkpoints::is_last_intact(&Db::sqlite(main), &head))?
        {
            at_once(checkpoints::sign(&Db::sqlite(main), keys, &mut head, now))?;
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
            Some(total) => heads::write_total(self.main, self.keys, total),
            None => Ok(()),
        }
    }

    /// Forgets what was appended since the last [`Chains::write`]; its rows are rolled back.
    pub(super) fn forget(&mut self) {
        self.heads.clear();
        self.total = None;
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

pub(super) fn altered(whose: &str) -> String {
    format!(
        "the audit log of {whose} was altered outside idgate, so nothing can be added to it; \
         `idgate audit verify` says where, and a backup has it as it was"
    )
}
