//! Heads and the number of all entries as rows.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::interface::StoreError;
use super::super::sql::{millis, number, time, unsigned};
use super::head::{Found, Head, total_message};
use crate::audit::{AuditEvent, AuditKeys, Hash};

/// A row of all columns in their order.
pub(super) fn from_row(keys: &AuditKeys, row: &Row<'_>) -> rusqlite::Result<Found> {
    // A hash of another length is none of ours: the MAC will not match.
    let hash = |column| {
        Ok::<Hash, rusqlite::Error>(row.get::<_, Vec<u8>>(column)?.try_into().unwrap_or_default())
    };
    let head = Head {
        client_id: row.get(0)?,
        seq: unsigned(row.get(1)?),
        entry_hash: hash(2)?,
        checkpoint_seq: unsigned(row.get(3)?),
        checkpoint_hash: hash(4)?,
        open_since: row.get::<_, Option<i64>>(5)?.map(time),
    };
    Ok(head.checked(keys, row.get_ref(6)?.as_blob().unwrap_or_default()))
}

/// All heads, each with the MAC that is stored of it.
pub(in crate::store) fn all(
    main: &Connection,
    keys: &AuditKeys,
) -> Result<Vec<(Found, Vec<u8>)>, StoreError> {
    let mut statement = main.prepare(
        "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
         FROM audit_heads ORDER BY client_id",
    )?;
    let rows = statement.query_map([], |row| Ok((from_row(keys, row)?, row.get(6)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Head {
    pub(super) fn read(
        main: &Connection,
        keys: &AuditKeys,
        client_id: &str,
    ) -> Result<Self, StoreError> {
        let found = main
            .prepare_cached(
                "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, \
                 mac FROM audit_heads WHERE client_id = ?1",
            )?
            .query_row([client_id], |row| from_row(keys, row))
            .optional()?;
        Self::genuine(found, client_id)
    }

    /// Gives a head to every client that has none, and writes down how many entries there are when
    /// that was never done: from here on none of it may be missing.
    pub(in crate::store) fn begin_all(
        main: &Connection,
        keys: &AuditKeys,
    ) -> Result<(), StoreError> {
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
    pub(super) fn append(
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

    /// Signs where the chain ends now.
    pub(super) fn checkpoint(
        &mut self,
        main: &Connection,
        keys: &AuditKeys,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let line = self.sign(keys, now);
        main.prepare_cached(
            "INSERT INTO audit_checkpoints (client_id, seq, signed) VALUES (?1, ?2, ?3)",
        )?
        .execute((&self.client_id, number(self.seq), line))?;
        Ok(())
    }

    pub(super) fn write(&self, main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
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
            self.mac(keys),
        ))?;
        Ok(())
    }
}

/// How many entries all chains have together; `None`: the number is not one that the instance
/// wrote. A chain that vanished with its head, or that was set back with it, is missing here.
pub(in crate::store) fn total(
    main: &Connection,
    keys: &AuditKeys,
) -> Result<Option<u64>, StoreError> {
    let found: Option<(i64, Vec<u8>)> = main
        .prepare_cached("SELECT entries, mac FROM audit_total WHERE id = 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // It is there from the beginning.
    let Some((entries, mac)) = found else { return Ok(None) };
    let entries = unsigned(entries);
    Ok(keys.is_mac(&total_message(entries), &mac).then_some(entries))
}

pub(super) fn write_total(
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
