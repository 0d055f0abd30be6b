//! The audit log in SQLite: entries are appended in the transaction that makes the change, in the
//! order in which changes are committed, whichever process makes them.

mod checkpoints;
mod export;
mod page;
mod verify;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row};

pub use self::checkpoints::{SignedChains, UnwrittenCheckpoint};
pub use self::export::ExportError;
pub use self::page::{AuditPage, ListedEntry};
pub use self::verify::AuditReport;
use super::cursor::List;
use super::{Caller, PageError, SqliteStore, StoreError, Write, millis, time};
use crate::audit::{AuditEvent, AuditKeys, Checkpoint, Hash, entry_hash, genesis};

/// Entries of a chain that one checkpoint leaves uncovered at most.
const CHECKPOINT_EVERY: u64 = 1000;

const LIST: List = List("cursor audit-log");

/// Appends `event` to the chain of `client_id`. To be called inside a write transaction (IMMEDIATE),
/// in which the change itself is made, too.
///
/// # Errors
/// The database failed, or the chain's head is not what the instance wrote: then nothing more can
/// be recorded for this client, so nothing more is done for it.
pub(super) fn append(
    main: &Connection,
    keys: &AuditKeys,
    client_id: &str,
    event: AuditEvent,
) -> Result<(), StoreError> {
    let mut head = Head::read(main, keys, client_id)?;
    let (now, seq) = (event.occurred_at(), head.seq.saturating_add(1));
    let fields = event.into_entry(client_id, seq).canonical();
    let hash = entry_hash(&head.entry_hash, &fields);
    main.prepare_cached(
        "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((client_id, number(seq), &fields, head.entry_hash, hash))?;
    (head.seq, head.entry_hash) = (seq, hash);
    head.open_since = head.open_since.or(Some(now));
    if seq.saturating_sub(head.checkpoint_seq) >= CHECKPOINT_EVERY {
        head.checkpoint(main, keys, now)?;
    }
    head.write(main, keys)?;
    add_to_total(main, keys)
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
    ) -> Result<AuditPage, PageError>;

    /// Signs checkpoints of the chains, at most `limit`, that have had entries without one since
    /// `before` or longer.
    fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains>;

    /// At most `limit` checkpoints that the checkpoint file does not have yet.
    fn unwritten_checkpoints(&self, limit: usize) -> Result<Vec<UnwrittenCheckpoint>, StoreError>;

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
    ) -> Result<AuditPage, PageError> {
        let client_id = caller.client_id.as_str();
        let before = match cursor {
            Some(cursor) => LIST.position(&self.sealer, client_id, cursor, now)?,
            None => i64::MAX,
        };
        let (entries, more) =
            self.readers.read(|reader| page::read(&reader.main, client_id, before, limit))?;
        let next_cursor =
            more.map(|last| LIST.cursor(&self.sealer, client_id, last, now)).transpose()?;
        Ok(AuditPage { entries, next_cursor })
    }

    fn sign_checkpoints(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, SignedChains> {
        self.writer.submit(move |batch| {
            checkpoints::sign_due(batch.main, batch.audit_keys(), before, limit, now)
        })
    }

    fn unwritten_checkpoints(&self, limit: usize) -> Result<Vec<UnwrittenCheckpoint>, StoreError> {
        self.readers.read(|reader| checkpoints::unwritten(&reader.main, limit))
    }

    fn checkpoints_written(&self, written: Vec<UnwrittenCheckpoint>) -> Write<'_, ()> {
        self.writer.submit(move |batch| checkpoints::mark_written(batch.main, &written))
    }
}

/// Where a chain ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) client_id: String,
    /// 0: there is no entry yet.
    pub(super) seq: u64,
    pub(super) entry_hash: Hash,
    pub(super) checkpoint_seq: u64,
    pub(super) checkpoint_hash: Hash,
    open_since: Option<UnixMillis>,
}

impl Head {
    /// A row of all columns in their order, and whether the instance wrote it.
    pub(super) fn from_row(keys: &AuditKeys, row: &Row<'_>) -> rusqlite::Result<(Self, bool)> {
        // A hash of another length is none of ours: the MAC will not match.
        let hash = |column| {
            Ok::<Hash, rusqlite::Error>(
                row.get::<_, Vec<u8>>(column)?.try_into().unwrap_or_default(),
            )
        };
        let head = Self {
            client_id: row.get(0)?,
            seq: unsigned(row.get(1)?),
            entry_hash: hash(2)?,
            checkpoint_seq: unsigned(row.get(3)?),
            checkpoint_hash: hash(4)?,
            open_since: row.get::<_, Option<i64>>(5)?.map(time),
        };
        let genuine = keys.is_mac(&head.message(), row.get_ref(6)?.as_blob().unwrap_or_default());
        Ok((head, genuine))
    }

    fn read(main: &Connection, keys: &AuditKeys, client_id: &str) -> Result<Self, StoreError> {
        let found = main
            .prepare_cached(
                "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, \
                 mac FROM audit_heads WHERE client_id = ?1",
            )?
            .query_row([client_id], |row| Self::from_row(keys, row))
            .optional()?;
        match found {
            None => Ok(Self::before_the_first(client_id)),
            Some((head, true)) => Ok(head),
            Some((_, false)) => Err(StoreError::Failed(altered(client_id))),
        }
    }

    fn before_the_first(client_id: &str) -> Self {
        Self {
            client_id: client_id.to_owned(),
            seq: 0,
            entry_hash: genesis(client_id),
            checkpoint_seq: 0,
            checkpoint_hash: Checkpoint::genesis(client_id),
            open_since: None,
        }
    }

    /// Signs where the chain ends now.
    fn checkpoint(
        &mut self,
        main: &Connection,
        keys: &AuditKeys,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let previous = &self.checkpoint_hash;
        let checkpoint =
            Checkpoint::new(&self.client_id, self.seq, &self.entry_hash, previous, now);
        let hash = checkpoint.hash();
        main.prepare_cached(
            "INSERT INTO audit_checkpoints (client_id, seq, signed) VALUES (?1, ?2, ?3)",
        )?
        .execute((&self.client_id, number(self.seq), checkpoint.sign(keys).to_line()))?;
        (self.checkpoint_seq, self.checkpoint_hash, self.open_since) = (self.seq, hash, None);
        Ok(())
    }

    fn write(&self, main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
        main.prepare_cached(
            "INSERT OR REPLACE INTO audit_heads (client_id, seq, entry_hash, checkpoint_seq, \
             checkpoint_hash, open_since, mac) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            &self.client_id,
            number(self.seq),
            self.entry_hash,
            number(self.checkpoint_seq),
            self.checkpoint_hash,
            self.open_since.map(millis),
            keys.mac(&self.message()),
        ))?;
        Ok(())
    }

    /// What is MACed. The lengths of all members after the client are fixed, so that no two heads
    /// are alike.
    fn message(&self) -> Vec<u8> {
        let open_since = self.open_since.map_or(-1, millis);
        [
            b"head\n",
            self.client_id.as_bytes(),
            b"\n",
            &self.seq.to_be_bytes(),
            &self.entry_hash,
            &self.checkpoint_seq.to_be_bytes(),
            &self.checkpoint_hash,
            &open_since.to_be_bytes(),
        ]
        .concat()
    }
}

/// How many entries all chains have together; `None`: the number is not one that the instance
/// wrote. A chain that vanished with its head, or that was set back with it, is missing here.
pub(super) fn total(main: &Connection, keys: &AuditKeys) -> Result<Option<u64>, StoreError> {
    let found: Option<(i64, Vec<u8>)> = main
        .prepare_cached("SELECT entries, mac FROM audit_total WHERE id = 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((entries, mac)) = found else { return Ok(Some(0)) };
    let entries = unsigned(entries);
    Ok(keys.is_mac(&total_message(entries), &mac).then_some(entries))
}

fn add_to_total(main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
    let entries = total(main, keys)?
        .ok_or_else(|| StoreError::Failed(altered("any client")))?
        .saturating_add(1);
    main.prepare_cached(
        "INSERT OR REPLACE INTO audit_total (id, entries, mac) VALUES (1, ?1, ?2)",
    )?
    .execute((number(entries), keys.mac(&total_message(entries))))?;
    Ok(())
}

fn total_message(entries: u64) -> Vec<u8> {
    [&b"total\n"[..], &entries.to_be_bytes()].concat()
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
