//! The rows of session keys, in the file of claims.

use rusqlite::{Connection, OptionalExtension as _};

use crate::types::StoreError;

pub(crate) fn insert(
    claims: &Connection,
    session_id: &str,
    sealed: &[u8],
) -> Result<(), StoreError> {
    claims
        .prepare_cached("INSERT INTO session_keys (session_id, sealed) VALUES (?1, ?2)")?
        .execute((session_id, sealed))?;
    Ok(())
}

/// The sealed key of a session while it is open.
pub(crate) fn read(claims: &Connection, session_id: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let mut find =
        claims.prepare_cached("SELECT sealed FROM session_keys WHERE session_id = ?1")?;
    Ok(find.query_row([session_id], |row| row.get(0)).optional()?)
}

/// Removes the keys of these sessions. Returns how many there were.
pub(crate) fn remove<'s>(
    claims: &Connection,
    session_ids: impl IntoIterator<Item = &'s String>,
) -> Result<usize, StoreError> {
    let mut delete = claims.prepare_cached("DELETE FROM session_keys WHERE session_id = ?1")?;
    let mut removed: usize = 0;
    for id in session_ids {
        removed = removed.saturating_add(delete.execute([id])?);
    }
    Ok(removed)
}
