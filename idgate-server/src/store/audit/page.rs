//! A client's own chain, newest entry first.

use rusqlite::Connection;

use super::super::interface::{ListedEntry, StoreError};
use super::super::sql::{number, unsigned};
use super::removal;
use crate::audit::{AuditKeys, StoredEntry, hex};

/// At most `limit` entries older than `before`, and the position of the last if there are more.
pub(in crate::store) fn read(
    main: &Connection,
    keys: &AuditKeys,
    client_id: &str,
    before: i64,
    limit: usize,
) -> Result<(Vec<ListedEntry>, Option<i64>), StoreError> {
    // One moment for the entries and the record of what was removed before them, and a short one.
    let moment = main.unchecked_transaction()?;
    // One more: the predecessor of the last, and whether there is one.
    let more = number(limit).saturating_add(1);
    let rows = moment
        .prepare_cached(
            "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
             WHERE client_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
        )?
        .query_map((client_id, before, more), |row| {
            Ok(Found {
                seq: row.get(0)?,
                fields: row.get(1)?,
                prev_hash: row.get(2)?,
                entry_hash: row.get(3)?,
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let predecessors = rows.iter().skip(1).map(Some).chain(std::iter::once(None));
    // What the oldest follows may have been removed.
    let removed = if rows.len() > limit { None } else { removal::record(&moment, client_id)? };
    let removed = removed.and_then(|record| removal::end_of(keys, client_id, &record));
    let removed = removed.as_ref().map(|(seq, hash)| (*seq, &hash[..]));
    let listed = rows.iter().zip(predecessors).map(|(row, before)| {
        let before = before.map(|row| (unsigned(row.seq), &*row.entry_hash));
        row.listed(client_id, before.or(removed))
    });
    let mut entries: Vec<ListedEntry> = listed.take(limit).collect();
    hide_open_sessions(&moment, &mut entries)?;
    let last = if rows.len() > limit { limit.checked_sub(1) } else { None };
    Ok((entries, last.and_then(|last| rows.get(last)).map(|row| row.seq)))
}

/// Whoever knows the id of an open session can open it and answer it: an id is a capability. It
/// appears when the session is settled or gone, and the hash can be recomputed from then on.
fn hide_open_sessions(main: &Connection, entries: &mut [ListedEntry]) -> Result<(), StoreError> {
    let mut is_open =
        main.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1 AND settled_at IS NULL")?;
    for entry in entries.iter_mut().filter_map(|listed| listed.entry.as_mut()) {
        if let Some(id) = &entry.session_id
            && is_open.exists([id])?
        {
            entry.session_id = None;
        }
    }
    Ok(())
}

struct Found {
    seq: i64,
    fields: String,
    prev_hash: Vec<u8>,
    entry_hash: Vec<u8>,
}

impl Found {
    /// `predecessor`: its number and hash.
    fn listed(&self, client_id: &str, predecessor: Option<(u64, &[u8])>) -> ListedEntry {
        let stored = StoredEntry {
            seq: unsigned(self.seq),
            fields: &self.fields,
            prev_hash: &self.prev_hash,
            entry_hash: &self.entry_hash,
        };
        ListedEntry {
            entry: serde_json::from_str(&self.fields).ok(),
            prev_hash: hex(&self.prev_hash),
            entry_hash: hex(&self.entry_hash),
            chain_intact: stored.is_intact(client_id, predecessor),
        }
    }
}
