//! Checkpoints: signed when due, and written to a file elsewhere after their commit.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::{SignedChains, StoreError, UnwrittenCheckpoint};
use super::super::sql::{millis, number, one_more, unsigned};
use super::proof::{Footing, Old};
use super::{Head, heads};
use crate::audit::AuditKeys;

/// Signs a checkpoint for each chain, `limit` at most, that has had entries without one since
/// `before` or longer. An altered chain holds up none of the others.
pub(in crate::store) fn sign_due(
    main: &Connection,
    keys: &AuditKeys,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Result<SignedChains, StoreError> {
    let limit = number(limit);
    let due = main
        .prepare_cached(
            "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
             FROM audit_heads WHERE open_since <= ?1 ORDER BY open_since LIMIT ?2",
        )?
        .query_map((millis(before), limit), |row| heads::from_row(keys, row))?
        .collect::<Result<Vec<_>, _>>()?;
    let mut chains = SignedChains::default();
    for (mut head, genuine) in due {
        if !genuine || !is_last_intact(main, &head)? {
            chains.altered.push(head.client_id);
            continue;
        }
        head.checkpoint(main, keys, now)?;
        head.write(main, keys)?;
        chains.signed = chains.signed.saturating_add(1);
    }
    Ok(chains)
}

/// Whether what a chain's head stands on is stored as it was.
pub(super) fn is_last_intact(main: &Connection, head: &Head) -> Result<bool, StoreError> {
    let client_id = &*head.client_id;
    let footing = Footing {
        at_head: entry_hash(main, client_id, head.seq)?,
        at_checkpoint: entry_hash(main, client_id, head.checkpoint_seq)?,
        checkpoint: main
            .prepare_cached(
                "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq = ?2",
            )?
            .query_row((client_id, number(head.checkpoint_seq)), |row| row.get(0))
            .optional()?,
        removal: super::removal::record(main, client_id)?,
    };
    Ok(footing.bears(head))
}

fn entry_hash(main: &Connection, client_id: &str, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(main
        .prepare_cached("SELECT entry_hash FROM audit_entries WHERE client_id = ?1 AND seq = ?2")?
        .query_row((client_id, number(seq)), |row| row.get(0))
        .optional()?)
}

/// Whether what is to be removed is what the checkpoints of it say.
pub(super) fn confirm(
    main: &Connection,
    keys: &AuditKeys,
    head: &Head,
    old: &Old<'_>,
) -> Result<bool, StoreError> {
    let client_id = &*head.client_id;
    let earlier: Option<String> = main
        .prepare_cached(
            "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq <= ?2 \
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row((client_id, number(old.begin)), |row| row.get(0))
        .optional()?;
    // An entry has at most one.
    let later = main
        .prepare_cached(
            "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq > ?2 \
             ORDER BY seq LIMIT ?3",
        )?
        .query_map((client_id, number(old.begin), one_more(old.len())), |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    Ok(old.is_confirmed(keys, head, earlier.as_deref(), &later))
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
        .query_map([number(limit)], |row| {
            let seq = unsigned(row.get(1)?);
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
