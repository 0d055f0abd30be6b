//! Checkpoints: signed when due, and written to a file elsewhere after their commit.

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::{StoreError, millis};
use super::{Head, number};
use crate::audit::AuditKeys;

/// A checkpoint that the checkpoint file does not have yet.
#[derive(Clone, Debug)]
pub struct UnwrittenCheckpoint {
    /// Whose chain.
    pub client_id: String,
    /// Its last entry.
    pub seq: u64,
    /// One line of JSON.
    pub line: String,
}

/// Signs a checkpoint for each chain, `limit` at most, that has had entries without one since
/// `before` or longer; says for how many.
pub(in crate::store) fn sign_due(
    main: &Connection,
    keys: &AuditKeys,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = main
        .prepare_cached(
            "SELECT client_id FROM audit_heads WHERE open_since <= ?1 ORDER BY open_since LIMIT ?2",
        )?
        .query_map((millis(before), limit), |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    for client_id in &due {
        let mut head = Head::read(main, keys, client_id)?;
        head.checkpoint(main, keys, now)?;
        head.write(main, keys)?;
    }
    Ok(due.len())
}

/// At most `limit` checkpoints that are in no file yet.
pub(in crate::store) fn unwritten(
    main: &Connection,
    limit: usize,
) -> Result<Vec<UnwrittenCheckpoint>, StoreError> {
    let rows = main
        .prepare_cached(
            "SELECT client_id, seq, signed FROM audit_checkpoints WHERE written = 0 \
             ORDER BY client_id, seq LIMIT ?1",
        )?
        .query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
            let seq = super::unsigned(row.get(1)?);
            Ok(UnwrittenCheckpoint { client_id: row.get(0)?, seq, line: row.get(2)? })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// Notes that the file has these.
pub(in crate::store) fn mark_written(
    main: &Connection,
    written: &[UnwrittenCheckpoint],
) -> Result<(), StoreError> {
    let mut mark = main.prepare_cached(
        "UPDATE audit_checkpoints SET written = 1 WHERE client_id = ?1 AND seq = ?2",
    )?;
    for checkpoint in written {
        mark.execute((&checkpoint.client_id, number(checkpoint.seq)))?;
    }
    Ok(())
}
