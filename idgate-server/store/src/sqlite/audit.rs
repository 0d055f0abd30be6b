//! The ends of audit chains in one file: entries are appended in the transaction that makes the change, in the
//! order in which changes are committed, whichever process makes them.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::audit::head::total_message;
use crate::audit::heads;
use crate::audit::proof::EntryRow;
use crate::audit::report::{Log, Moment};
use crate::audit::rows::{entries, moment};
use crate::audit::{CHECKPOINT_EVERY, Head, altered, checkpoints};
use crate::audit_chain::{AuditEvent, AuditKeys};
use crate::db::{Db, at_once, at_one_moment};
use crate::sql::number;
use crate::types::StoreError;

/// The chains that one write transaction (IMMEDIATE) appends to. Where they end is read with the
/// first entry of each, and written once, however many entries there were.
pub(crate) struct Chains<'c> {
    main: &'c Connection,
    keys: &'c AuditKeys,
    heads: BTreeMap<String, Head>,
    /// Entries of all chains; `None`: nothing was appended since the last [`Chains::write`].
    total: Option<u64>,
}

impl<'c> Chains<'c> {
    pub(crate) fn new(main: &'c Connection, keys: &'c AuditKeys) -> Self {
        Self { main, keys, heads: BTreeMap::new(), total: None }
    }

    /// Appends `event` to the chain of `client_id`; of no effect before [`Chains::write`].
    ///
    /// # Errors
    /// The database failed, or the chain's head or the number of all entries is not what the
    /// instance wrote: then nothing more can be recorded for this client, so nothing more is done
    /// for it.
    pub(crate) fn append(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
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
        // An altered chain is not signed. The next signing of due chains reports it.
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
    pub(crate) fn write(&mut self) -> Result<(), StoreError> {
        for head in std::mem::take(&mut self.heads).values() {
            head.write(self.main, self.keys)?;
        }
        match self.total.take() {
            Some(total) => write_total(self.main, self.keys, total),
            None => Ok(()),
        }
    }

    /// Forgets what was appended since the last [`Chains::write`]; its rows are rolled back.
    pub(crate) fn forget(&mut self) {
        self.heads.clear();
        self.total = None;
    }
}

impl Head {
    pub(crate) fn read(
        main: &Connection,
        keys: &AuditKeys,
        client_id: &str,
    ) -> Result<Self, StoreError> {
        let found = at_once(heads::find(&Db::sqlite(main), keys, client_id))?;
        Self::genuine(found, client_id)
    }

    /// Gives a head to every client that has none, and writes down how many entries there are when
    /// that was never done: from here on none of it may be missing.
    pub(crate) fn begin_all(main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
        let without = main
            .prepare(
                "SELECT id FROM clients WHERE id NOT IN (SELECT client_id FROM audit_heads) \
                 AND id NOT IN (SELECT client_id FROM audit_entries)",
            )?
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<Result<Vec<_>, _>>()?;
        for client_id in &without {
            Self::before_the_first(client_id).write(main, keys)?;
        }
        let (has_total, has_heads): (bool, bool) = main.query_row(
            "SELECT EXISTS (SELECT 1 FROM audit_total), \
             EXISTS (SELECT 1 FROM audit_heads WHERE seq > 0)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if !has_total && !has_heads {
            write_total(main, keys, 0)?;
        }
        Ok(())
    }

    /// Adds an entry; the head itself is written later.
    pub(crate) fn append(
        &mut self,
        main: &Connection,
        event: AuditEvent,
    ) -> Result<(), StoreError> {
        let added = self.add(event);
        main.prepare_cached(
            "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            &self.client_id,
            number(added.seq),
            &added.fields,
            added.prev_hash,
            added.entry_hash,
        ))?;
        Ok(())
    }

    pub(crate) fn write(&self, main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
        at_once(heads::write(&Db::sqlite(main), keys, self))
    }
}

pub(crate) fn write_total(
    main: &Connection,
    keys: &AuditKeys,
    entries: u64,
) -> Result<(), StoreError> {
    main.prepare_cached(
        "INSERT OR REPLACE INTO audit_total (id, entries, mac) VALUES (1, ?1, ?2)",
    )?
    .execute((number(entries), keys.mac(&total_message(entries))))?;
    Ok(())
}

/// The log of one file.
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
