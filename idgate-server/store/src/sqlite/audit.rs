//! The heads of audit chains in one file. Entries are appended in the transaction that makes the
//! change, in commit order, whichever process makes the change.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::audit::head::Added;
use crate::audit::heads;
use crate::audit::proof::EntryRow;
use crate::audit::report::{Log, Moment};
use crate::audit::rows::{entries, moment};
use crate::audit::{CHECKPOINT_EVERY, Head, altered, checkpoints};
use crate::audit_chain::{AuditEvent, AuditKeys};
use crate::db::{Db, at_once, at_one_moment};
use crate::sql::number;
use crate::types::StoreError;

/// The chains that one write transaction (IMMEDIATE) appends to. A chain's head is read with its
/// first entry and written once, however many entries follow.
pub(crate) struct Chains<'c> {
    main: &'c Connection,
    keys: &'c AuditKeys,
    heads: BTreeMap<String, Head>,
    /// The number of entries in all chains. `None`: nothing was appended since the last
    /// [`Chains::write`].
    total: Option<u64>,
}

impl<'c> Chains<'c> {
    pub(crate) fn new(main: &'c Connection, keys: &'c AuditKeys) -> Self {
        Self { main, keys, heads: BTreeMap::new(), total: None }
    }

    /// Appends `event` to the chain of `client_id`. It takes effect with [`Chains::write`].
    ///
    /// # Errors
    /// The database failed, or the instance did not write the chain's head or the number of all
    /// entries. Nothing more can be recorded for this client then, so nothing more is done for it.
    pub(crate) fn append(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
        let (main, keys) = (self.main, self.keys);
        let total = match self.total {
            Some(total) => total,
            None => at_once(heads::total(&Db::sqlite(main), keys))?
                .ok_or_else(|| StoreError::Failed(altered("any client")))?,
        };
        let mut head = match self.heads.remove(client_id) {
            Some(head) => head,
            None => {
                Head::genuine(at_once(heads::find(&Db::sqlite(main), keys, client_id))?, client_id)?
            }
        };
        let now = event.occurred_at();
        let added = head.add(event);
        insert_entry(main, &head, &added)?;
        // An altered chain is not signed. The next signing of due checkpoints reports it.
        if head.seq.saturating_sub(head.checkpoint_seq) >= CHECKPOINT_EVERY
            && at_once(checkpoints::is_last_intact(&Db::sqlite(main), &head))?
        {
            at_once(checkpoints::sign(&Db::sqlite(main), keys, &mut head, now))?;
        }
        self.heads.insert(client_id.to_owned(), head);
        self.total = Some(total.saturating_add(1));
        Ok(())
    }

    /// Writes the new heads.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) fn write(&mut self) -> Result<(), StoreError> {
        for head in std::mem::take(&mut self.heads).values() {
            at_once(heads::write(&Db::sqlite(self.main), self.keys, head))?;
        }
        match self.total.take() {
            Some(total) => at_once(heads::set_total(&Db::sqlite(self.main), self.keys, 1, total)),
            None => Ok(()),
        }
    }

    /// Discards everything appended since the last [`Chains::write`]. The caller rolls back its
    /// rows.
    pub(crate) fn forget(&mut self) {
        self.heads.clear();
        self.total = None;
    }
}

/// Stores an entry that was added to the chain with this head.
fn insert_entry(main: &Connection, head: &Head, added: &Added) -> Result<(), StoreError> {
    main.prepare_cached(
        "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        &head.client_id,
        number(added.seq),
        &added.fields,
        added.prev_hash,
        added.entry_hash,
    ))?;
    Ok(())
}

/// The audit log of one file.
pub(crate) struct Rows<'c> {
    pub(crate) main: &'c Connection,
    pub(crate) keys: &'c AuditKeys,
}

impl Log for Rows<'_> {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        at_one_moment(self.main, async |db| moment(db, self.keys, client).await)
    }

    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        at_once(entries(&Db::sqlite(self.main), client_id, bounds, limit))
    }
}
