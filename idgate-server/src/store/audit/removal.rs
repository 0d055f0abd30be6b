//! Removing what is older than the operator wants to keep (decisions 25): from the beginning of a
//! chain, entry by entry verified first, against each other and against the checkpoints that were
//! signed of them, behind a signed record of where it ended.

use std::collections::BTreeMap;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::StoreError;
use super::super::sql::{number, unsigned};
use super::checkpoints::confirm;
use super::{Head, altered};
use crate::audit::{AuditKeys, ChainWalk, Hash, Removal, SignedRemoval, StoredEntry};

/// Where it stands when the clock was last set; plain, as the database's own id is.
const HELD: &str = "removals_held_since";

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

/// Chains, at most `limit`, whose first entry is from before `before`, by name from `last` on.
pub(in crate::store) fn old_chains(
    main: &Connection,
    last: &str,
    before: UnixMillis,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT client_id FROM audit_heads AS h WHERE client_id > ?1 \
         AND (SELECT e.fields ->> 'occurred_at' FROM audit_entries AS e \
              WHERE e.client_id = h.client_id ORDER BY e.seq LIMIT 1) < ?2 \
         ORDER BY client_id LIMIT ?3",
    )?;
    let limit = number(limit);
    let rows = statement.query_map((last, before.to_string(), limit), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the latest entry of all chains was made.
pub(in crate::store) fn newest(main: &Connection) -> Result<Option<UnixMillis>, StoreError> {
    let newest: Option<String> = main
        .prepare(
            "SELECT max(e.fields ->> 'occurred_at') FROM audit_heads AS h \
             JOIN audit_entries AS e ON e.client_id = h.client_id AND e.seq = h.seq",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(newest.as_deref().and_then(UnixMillis::parse_rfc3339))
}

/// Notes that ages cannot be trusted.
pub(in crate::store) fn hold(main: &Connection, since: UnixMillis) -> Result<(), StoreError> {
    main.prepare_cached("INSERT OR REPLACE INTO instance (name, sealed) VALUES (?1, ?2)")?
        .execute((HELD, since.0.to_be_bytes()))?;
    Ok(())
}

/// Since when they cannot.
pub(in crate::store) fn held_since(main: &Connection) -> Result<Option<UnixMillis>, StoreError> {
    let since: Option<Vec<u8>> = main
        .prepare_cached("SELECT sealed FROM instance WHERE name = ?1")?
        .query_row([HELD], |row| row.get(0))
        .optional()?;
    // What is no time holds: nothing is removed on account of damage.
    let time = |bytes: Vec<u8>| bytes.try_into().map_or(u64::MAX, u64::from_be_bytes);
    Ok(since.map(|bytes| UnixMillis(time(bytes))))
}

/// Removes at most `limit` entries of a chain from before `before`, and says how many. A chain that
/// was altered stays as it is: what was done to it must not go with its age.
pub(in crate::store) fn remove_old(
    main: &Connection,
    keys: &AuditKeys,
    client_id: &str,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let head = Head::read(main, keys, client_id)?;
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
    let mut rows = statement.query((client_id, number(limit)))?;
    // Times of one length in UTC: their order is that of their texts.
    let before = before.to_string();
    let (begin, mut hashes) = (walk.seq(), BTreeMap::new());
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
        hashes.insert(walk.seq(), *walk.hash());
    }
    drop(rows);
    if hashes.is_empty() {
        return Ok(0);
    }
    if !is_followed(main, &head, &walk)? || !confirm(main, keys, &head, begin, &hashes)? {
        return Err(StoreError::Failed(altered(client_id)));
    }
    let signed = Removal::new(client_id, walk.seq(), walk.hash(), now).sign(keys).to_line();
    main.prepare_cached("DELETE FROM audit_entries WHERE client_id = ?1 AND seq <= ?2")?
        .execute((client_id, number(walk.seq())))?;
    main.prepare_cached(
        "INSERT OR REPLACE INTO audit_removals (client_id, signed) VALUES (?1, ?2)",
    )?
    .execute((client_id, signed))?;
    Ok(hashes.len())
}

/// Whether the chain goes on, or ends, where the walk ended.
fn is_followed(main: &Connection, head: &Head, walk: &ChainWalk<'_>) -> Result<bool, StoreError> {
    let next: Option<Vec<u8>> = main
        .prepare_cached("SELECT prev_hash FROM audit_entries WHERE client_id = ?1 AND seq = ?2")?
        .query_row((&head.client_id, number(walk.seq().saturating_add(1))), |row| row.get(0))
        .optional()?;
    Ok(match next {
        Some(previous) => previous == walk.hash(),
        None => (head.seq, &head.entry_hash) == (walk.seq(), walk.hash()),
    })
}
