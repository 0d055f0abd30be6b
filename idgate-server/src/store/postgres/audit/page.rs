//! A client's own chain, newest entry first.

use std::collections::BTreeSet;

use tokio_postgres::{IsolationLevel, Row};

use super::super::super::audit::proof::{EntryRow, end_of, list};
use super::super::super::interface::ListedEntry;
use super::super::super::sql::one_more;
use super::super::error::Done;
use super::super::pool::Tx;
use super::super::shared::Shared;
use super::super::sql::{row, rows};

/// At most `limit` entries older than `before`, and the position of the last if there are more.
pub(in crate::store::postgres) async fn read(
    shared: &Shared,
    client_id: &str,
    before: i64,
    limit: usize,
) -> Done<(Vec<ListedEntry>, Option<i64>)> {
    // One moment for the entries and the record of what was removed before them.
    let mut client = shared.pool.client().await?;
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    // One more: the predecessor of the last, and whether there is one.
    let found = rows(
        &moment,
        "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
         WHERE client_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
        &[&client_id, &before, &one_more(limit)],
    )
    .await?;
    let found = found.iter().map(entry).collect::<Done<Vec<_>>>()?;
    // What the oldest follows may have been removed.
    let removed =
        row(&moment, "SELECT signed FROM audit_removals WHERE client_id = $1", &[&client_id])
            .await?;
    let removed: Option<String> = removed.map(|row| row.try_get(0)).transpose()?;
    let removed = removed.and_then(|record| end_of(&shared.audit, client_id, &record));
    let mut entries = list(client_id, &found, removed.as_ref(), limit);
    hide_open_sessions(&moment, &mut entries).await?;
    let last = if found.len() > limit { limit.checked_sub(1) } else { None };
    Ok((entries, last.and_then(|last| found.get(last)).map(|row| row.seq)))
}

/// A row of `seq`, `fields` and both hashes.
pub(super) fn entry(row: &Row) -> Done<EntryRow> {
    Ok(EntryRow {
        seq: row.try_get(0)?,
        fields: row.try_get(1)?,
        prev_hash: row.try_get(2)?,
        entry_hash: row.try_get(3)?,
    })
}

/// Whoever knows the id of an open session can open it and answer it: an id is a capability. It
/// appears when the session is settled or gone, and the hash can be recomputed from then on.
async fn hide_open_sessions(moment: &Tx<'_>, entries: &mut [ListedEntry]) -> Done<()> {
    let named: Vec<&str> =
        entries.iter().filter_map(|listed| listed.entry.as_ref()?.session_id.as_deref()).collect();
    let open = rows(
        moment,
        "SELECT id FROM sessions WHERE id = ANY($1) AND settled_at IS NULL",
        &[&named],
    )
    .await?;
    let open = open.iter().map(|row| row.try_get(0)).collect::<Result<BTreeSet<String>, _>>();
    let open = open?;
    for entry in entries.iter_mut().filter_map(|listed| listed.entry.as_mut()) {
        if entry.session_id.as_ref().is_some_and(|id| open.contains(id)) {
            entry.session_id = None;
        }
    }
    Ok(())
}
