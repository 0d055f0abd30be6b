//! A client's own chain, newest entry first.

use rusqlite::{Connection, Row};

use super::super::interface::{ListedEntry, StoreError};
use super::super::sql::number;
use super::proof::{EntryRow, end_of, list};
use super::removal;
use crate::audit::AuditKeys;

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
        .query_map((client_id, before, more), row)?
        .collect::<Result<Vec<_>, _>>()?;
    // What the oldest follows may have been removed.
    let removed = removal::record(&moment, client_id)?;
    let removed = removed.and_then(|record| end_of(keys, client_id, &record));
    let mut entries = list(client_id, &rows, removed.as_ref(), limit);
    hide_open_sessions(&moment, &mut entries)?;
    let last = if rows.len() > limit { limit.checked_sub(1) } else { None };
    Ok((entries, last.and_then(|last| rows.get(last)).map(|row| row.seq)))
}

/// A row of `seq`, `fields` and both hashes.
pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    let bytes = |column| {
        Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_blob().unwrap_or_default().to_vec())
    };
    Ok(EntryRow {
        seq: row.get(0)?,
        fields: row.get_ref(1)?.as_str().unwrap_or_default().to_owned(),
        prev_hash: bytes(2)?,
        entry_hash: bytes(3)?,
    })
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
