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

/// What came of signing the chains that are due.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SignedChains {
    /// How many have a new checkpoint.
    pub signed: usize,
    /// Whose head is not what the instance wrote: for them nothing is signed any more.
    pub altered: Vec<String>,
}

/// Signs a checkpoint for each chain, `limit` at most, that has had entries without one since
/// `before` or longer. An altered chain holds up none of the others.
pub(in crate::store) fn sign_due(
    main: &Connection,
    keys: &AuditKeys,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<SignedChains, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = main
        .prepare_cached(
            "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
             FROM audit_heads WHERE open_since <= ?1 ORDER BY open_since LIMIT ?2",
        )?
        .query_map((millis(before), limit), |row| Head::from_row(keys, row))?
        .collect::<Result<Vec<_>, _>>()?;
    let mut chains = SignedChains::default();
    for (mut head, genuine) in due {
        if !genuine {
            chains.altered.push(head.client_id);
            continue;
        }
        head.checkpoint(main, keys, now)?;
        head.write(main, keys)?;
        chains.signed = chains.signed.saturating_add(1);
    }
    Ok(chains)
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
