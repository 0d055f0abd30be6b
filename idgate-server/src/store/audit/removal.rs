//! Removing what is older than the operator wants to keep (decisions 25): from the beginning of a
//! chain, entry by entry verified first, behind a signed record of where it ended.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::{altered, number, unsigned};
use crate::audit::{AuditKeys, ChainWalk, Hash, Removal, SignedRemoval, StoredEntry};
use crate::store::StoreError;

/// The record of a chain, if there is one.
pub(super) fn record(main: &Connection, client_id: &str) -> Result<Option<String>, StoreError> {
    Ok(main
        .prepare_cached("SELECT signed FROM audit_removals WHERE client_id = ?1")?
        .query_row([client_id], |row| row.get(0))
        .optional()?)
}

/// Where a record says that the removed part ended; `None`: this instance did not sign it.
pub(super) fn end_of(keys: &AuditKeys, client_id: &str, record: &str) -> Option<(u64, Hash)> {
    serde_json::from_str::<SignedRemoval>(record).ok()?.end(keys, client_id)
}

/// Chains, at most `limit`, whose first entry is from before `before`.
pub(super) fn old_chains(
    main: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT client_id FROM audit_heads AS h WHERE (SELECT e.fields ->> 'occurred_at' \
         FROM audit_entries AS e WHERE e.client_id = h.client_id ORDER BY e.seq LIMIT 1) < ?1 \
         LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map((before.to_string(), limit), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes at most `limit` entries of a chain from before `before`, and says how many. A chain that
/// was altered stays as it is: what was done to it must not go with its age.
pub(super) fn remove_old(
    main: &Connection,
    keys: &AuditKeys,
    client_id: &str,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let removed = match record(main, client_id)? {
        Some(record) => {
            let end = end_of(keys, client_id, &record);
            Some(end.ok_or_else(|| StoreError::Failed(altered(client_id)))?)
        }
        None => None,
    };
    let mut walk = match removed {
        Some((seq, hash)) => ChainWalk::after(client_id, seq, hash),
        None => ChainWalk::new(client_id),
    };
    let mut statement = main.prepare_cached(
        "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
         WHERE client_id = ?1 ORDER BY seq LIMIT ?2",
    )?;
    let mut rows = statement.query((client_id, i64::try_from(limit).unwrap_or(i64::MAX)))?;
    // Times of one length in UTC: their order is that of their texts.
    let before = before.to_string();
    let mut count = 0_usize;
    while let Some(row) = rows.next()? {
        let entry = StoredEntry {
            seq: unsigned(row.get(0)?),
            fields: row.get_ref(1)?.as_str().unwrap_or_default(),
            prev_hash: row.get_ref(2)?.as_blob().unwrap_or_default(),
            entry_hash: row.get_ref(3)?.as_blob().unwrap_or_default(),
        };
        let intact = serde_json::from_str::<crate::audit::AuditEntry>(entry.fields).ok();
        if intact.as_ref().is_some_and(|entry| entry.occurred_at >= before) {
            break;
        }
        walk.step(&entry).map_err(|_| StoreError::Failed(altered(client_id)))?;
        count = count.saturating_add(1);
    }
    drop(rows);
    if count == 0 {
        return Ok(0);
    }
    let signed = Removal::new(client_id, walk.seq(), walk.hash(), now).sign(keys).to_line();
    main.prepare_cached("DELETE FROM audit_entries WHERE client_id = ?1 AND seq <= ?2")?
        .execute((client_id, number(walk.seq())))?;
    main.prepare_cached(
        "INSERT OR REPLACE INTO audit_removals (client_id, signed) VALUES (?1, ?2)",
    )?
    .execute((client_id, signed))?;
    Ok(count)
}
