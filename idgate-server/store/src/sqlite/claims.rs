//! The rows of the results of the last 30 seconds. They are in a file of their own, so that every
//! byte of them can be erased.

use idgate_core::limits::CLAIMS_RETENTION_MS;
use idgate_core::session::SessionResult;
use idgate_core::{Session, UnixMillis};
use rusqlite::{Connection, OptionalExtension as _};

use super::error::begin;
use crate::claims::{FARTHEST_MS, open};
use crate::seal::Sealer;
use crate::sql::millis;
use crate::types::StoreError;

pub(crate) fn insert(
    claims: &Connection,
    session_id: &str,
    redact_at: UnixMillis,
    sealed: &[u8],
) -> Result<(), StoreError> {
    claims
        .prepare_cached("INSERT INTO results (session_id, redact_at, sealed) VALUES (?1, ?2, ?3)")?
        .execute((session_id, millis(redact_at), sealed))?;
    Ok(())
}

/// The result of a session while it may be read at `now`.
pub(crate) fn read(
    claims: &Connection,
    sealer: &Sealer,
    session: &Session,
    now: UnixMillis,
) -> Result<Option<SessionResult>, StoreError> {
    let ends = session.settlement().and_then(|ended| ended.redact_at());
    let Some(redact_at) = ends.filter(|at| !is_due(millis(*at), now)) else { return Ok(None) };
    let sealed: Option<Vec<u8>> = claims
        .prepare_cached("SELECT sealed FROM results WHERE redact_at = ?1 AND session_id = ?2")?
        .query_row((millis(redact_at), session.id().as_str()), |row| row.get(0))
        .optional()?;
    sealed.map(|sealed| open(sealer, session, &sealed)).transpose()
}

/// Removes rows that are due at `now`, or that are due implausibly late. Returns how many there
/// were.
pub(crate) fn remove_due(claims: &Connection, now: UnixMillis) -> Result<usize, StoreError> {
    Ok(claims
        .prepare_cached("DELETE FROM results WHERE redact_at <= ?1 OR redact_at > ?2")?
        .execute((millis(now), farthest(now)))?)
}

/// Whether a row with this `redact_at` has to be removed.
pub(crate) fn is_due(redact_at: i64, now: UnixMillis) -> bool {
    redact_at <= millis(now) || redact_at > farthest(now)
}

fn farthest(now: UnixMillis) -> i64 {
    millis(now.plus(FARTHEST_MS))
}

/// Removes the result of a session that settled at `settled_at`. Returns whether there was one.
pub(crate) fn remove(
    claims: &Connection,
    session_id: &str,
    settled_at: UnixMillis,
) -> Result<bool, StoreError> {
    let redact_at = millis(settled_at.plus(CLAIMS_RETENTION_MS));
    let removed = claims
        .prepare_cached("DELETE FROM results WHERE redact_at = ?1 AND session_id = ?2")?
        .execute((redact_at, session_id))?;
    Ok(removed > 0)
}

/// Removes results whose session is not VERIFIED in `main`, and keys whose session is not open
/// there. They exist if a process died between two commits, or before it removed them.
pub(crate) fn remove_orphans(claims: &Connection, main: &Connection) -> Result<(), StoreError> {
    // Both are tried, whatever the outcome of the other.
    let results = remove_without(claims, "results", main, "status = 'VERIFIED'");
    remove_orphaned_keys(claims, main).and(results)
}

/// The same for keys only.
pub(crate) fn remove_orphaned_keys(
    claims: &Connection,
    main: &Connection,
) -> Result<(), StoreError> {
    remove_without(claims, "session_keys", main, "settled_at IS NULL")
}

/// Removes the rows of a table whose session is not in `main`, or has another state.
fn remove_without(
    claims: &Connection,
    table: &str,
    main: &Connection,
    state: &str,
) -> Result<(), StoreError> {
    let mut statement = claims.prepare(&format!("SELECT rowid, session_id FROM {table}"))?;
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, String)>, _>>()?;
    let kept = format!("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND {state})");
    let mut is_kept = main.prepare(&kept)?;
    for (row, id) in rows {
        if !is_kept.query_row([&id], |row| row.get::<_, bool>(0))? {
            claims.execute(&format!("DELETE FROM {table} WHERE rowid = ?1"), [row])?;
        }
    }
    Ok(())
}

/// Converts an earlier gateway's table, which had an index by session, to that of `claims.sql`.
/// Until then the earlier table works as well, at a higher cost.
pub(crate) fn order_by_end(claims: &mut Connection) -> Result<(), StoreError> {
    let is_earlier = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'results_due')";
    if !claims.query_row(is_earlier, [], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let transaction = begin(claims)?;
    transaction.execute_batch(
        "ALTER TABLE results RENAME TO earlier; DROP INDEX results_due; DROP INDEX results_by_end",
    )?;
    transaction.execute_batch(include_str!("claims.sql"))?;
    transaction.execute_batch(
        "INSERT INTO results (session_id, redact_at, sealed) \
         SELECT session_id, redact_at, sealed FROM earlier; DROP TABLE earlier",
    )?;
    Ok(transaction.commit()?)
}
