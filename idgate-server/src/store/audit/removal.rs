//! Removing what is older than the operator wants to keep (decisions 25): from the beginning of a
//! chain, entry by entry verified first, against each other and against the checkpoints that were
//! signed of them, behind a signed record of where it ended.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::StoreError;
use super::super::sql::number;
use super::checkpoints::confirm;
use super::page::row;
use super::proof::Old;
use super::{Head, altered};
use crate::audit::AuditKeys;

/// Where it stands when the clock was last set; plain, as the database's own id is.
const HELD: &str = "removals_held_since";

/// The record of a chain, if there is one.
pub(super) fn record(main: &Connection, client_id: &str) -> Result<Option<String>, StoreError> {
    Ok(main
        .prepare_cached("SELECT signed FROM audit_removals WHERE client_id = ?1")?
        .query_row([client_id], |row| row.get(0))
        .optional()?)
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
    let removed = record(main, client_id)?;
    let rows = main
        .prepare_cached(
            "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
             WHERE client_id = ?1 ORDER BY seq LIMIT ?2",
        )?
        .query_map((client_id, number(limit)), row)?
        .collect::<Result<Vec<_>, _>>()?;
    let old = Old::of(keys, client_id, removed.as_deref(), &rows, before)?;
    if old.len() == 0 {
        return Ok(0);
    }
    if !is_followed(main, &head, &old)? || !confirm(main, keys, &head, &old)? {
        return Err(StoreError::Failed(altered(client_id)));
    }
    main.prepare_cached("DELETE FROM audit_entries WHERE client_id = ?1 AND seq <= ?2")?
        .execute((client_id, number(old.end())))?;
    main.prepare_cached(
        "INSERT OR REPLACE INTO audit_removals (client_id, signed) VALUES (?1, ?2)",
    )?
    .execute((client_id, old.record(keys, now)))?;
    Ok(old.len())
}

fn is_followed(main: &Connection, head: &Head, old: &Old<'_>) -> Result<bool, StoreError> {
    let next: Option<Vec<u8>> = main
        .prepare_cached("SELECT prev_hash FROM audit_entries WHERE client_id = ?1 AND seq = ?2")?
        .query_row((&head.client_id, number(old.end().saturating_add(1))), |row| row.get(0))
        .optional()?;
    Ok(old.is_followed(head, next.as_deref()))
}
