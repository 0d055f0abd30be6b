//! A client's own chain, newest entry first.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::db::{Db, Row, sql};
use super::super::failure::Done;
use super::super::sql::one_more;
use super::super::types::ListedEntry;
use super::proof::{EntryRow, end_of, list};
use crate::audit_chain::AuditKeys;

/// At most `limit` entries older than `before`, and the position of the last one if there are more.
/// The entries and the record of removed ones are read in one snapshot.
pub(crate) async fn read(
    db: &Db<'_>,
    keys: &AuditKeys,
    client_id: &str,
    before: i64,
    limit: usize,
) -> Done<(Vec<ListedEntry>, Option<i64>)> {
    // One more row: the predecessor of the last entry, which also shows whether there are more.
    let entries = sql("SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
                       WHERE client_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3");
    let rows = db.all(entries, &[&client_id, &before, &one_more(limit)], entry).await?;
    // The predecessor of the oldest entry may have been removed.
    let removed = sql("SELECT signed FROM audit_removals WHERE client_id = $1");
    let removed = db.one(removed, &[&client_id], |row| row.get::<String>(0)).await?;
    let removed = removed.and_then(|record| end_of(keys, client_id, &record));
    let mut entries = list(client_id, &rows, removed.as_ref(), limit);
    hide_open_sessions(db, &mut entries).await?;
    let last = if rows.len() > limit { limit.checked_sub(1) } else { None };
    Ok((entries, last.and_then(|last| rows.get(last)).map(|row| row.seq)))
}

/// A row of `seq`, `fields` and both hashes.
pub(super) fn entry(row: &Row<'_>) -> Done<EntryRow> {
    Ok(EntryRow {
        seq: row.get(0)?,
        fields: row.text(1)?,
        prev_hash: row.bytes(2)?,
        entry_hash: row.bytes(3)?,
    })
}

/// Hides the ids of open sessions: an id is a capability, and would allow its reader to answer the
/// session. The id appears once the session is settled or deleted, and from then on the hash can be
/// recomputed.
async fn hide_open_sessions(db: &Db<'_>, entries: &mut [ListedEntry]) -> Done<()> {
    let named: Vec<&str> =
        entries.iter().filter_map(|listed| listed.entry.as_ref()?.session_id.as_deref()).collect();
    let open = sql("SELECT id FROM sessions WHERE id {= ANY(ARRAY(SELECT \
                    json_array_elements_text(CAST(CAST($1 AS text) AS json))))|IN (SELECT value \
                    FROM json_each($1))} AND settled_at IS NULL");
    let open = db.all(open, &[&json!(named).to_string()], |row| row.get(0)).await?;
    let open: BTreeSet<String> = open.into_iter().collect();
    for entry in entries.iter_mut().filter_map(|listed| listed.entry.as_mut()) {
        if entry.session_id.as_ref().is_some_and(|id| open.contains(id)) {
            entry.session_id = None;
        }
    }
    Ok(())
}
