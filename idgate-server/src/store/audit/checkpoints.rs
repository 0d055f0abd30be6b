//! Checkpoints: signed when due, and written to a file elsewhere after their commit.

use std::collections::BTreeMap;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::{SignedChains, StoreError, UnwrittenCheckpoint};
use super::super::sql::{millis, number, unsigned};
use super::Head;
use crate::audit::{AuditKeys, Checkpoint, Hash, SignedCheckpoint, SignedRemoval, hex};

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
        .query_map((millis(before), limit), |row| Head::from_row(keys, row))?
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

/// Whether the last checkpoint of a chain and the entries that it and the head stand for are stored as
/// they were: what was altered under a signature must not get another one.
pub(super) fn is_last_intact(main: &Connection, head: &Head) -> Result<bool, StoreError> {
    let has = |seq: u64, hash: &str| {
        let stored: Option<Vec<u8>> = main
            .prepare_cached(
                "SELECT entry_hash FROM audit_entries WHERE client_id = ?1 AND seq = ?2",
            )?
            .query_row((&head.client_id, number(seq)), |row| row.get(0))
            .optional()?;
        Ok::<_, StoreError>(match stored {
            Some(stored) => hex(&stored) == hash,
            None => is_removed(main, &head.client_id, seq)?,
        })
    };
    if head.seq > 0 && !has(head.seq, &hex(&head.entry_hash))? {
        return Ok(false);
    }
    if head.checkpoint_seq == 0 {
        return Ok(true);
    }
    let last: Option<String> = main
        .prepare_cached("SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq = ?2")?
        .query_row((&head.client_id, number(head.checkpoint_seq)), |row| row.get(0))
        .optional()?;
    let last = last.and_then(|text| serde_json::from_str::<SignedCheckpoint>(&text).ok());
    match last {
        Some(last) if last.checkpoint().hash() == head.checkpoint_hash => {
            has(head.checkpoint_seq, &last.head_hash)
        }
        _ => Ok(false),
    }
}

/// Whether an entry that is not there was removed when it was old; whether the record is genuine is
/// looked at by those who follow it.
fn is_removed(main: &Connection, client_id: &str, seq: u64) -> Result<bool, StoreError> {
    let record = super::removal::record(main, client_id)?;
    let record = record.and_then(|text| serde_json::from_str::<SignedRemoval>(&text).ok());
    Ok(record.is_some_and(|record| record.last_seq >= seq))
}

/// A checkpoint that the instance signed for this chain after the one with the hash `previous`.
pub(super) fn genuine(
    text: &str,
    keys: &AuditKeys,
    client_id: &str,
    previous: &Hash,
) -> Option<SignedCheckpoint> {
    let signed = serde_json::from_str::<SignedCheckpoint>(text).ok()?;
    let is_next = signed.client_id == client_id
        && signed.previous_checkpoint_hash == hex(previous)
        && signed.is_signed_by(keys);
    is_next.then_some(signed)
}

/// Whether entries after `begin`, with these hashes, are what the checkpoints of them say, of which
/// none is missing: each names the one before it, and the head the last.
pub(super) fn confirm(
    main: &Connection,
    keys: &AuditKeys,
    head: &Head,
    begin: u64,
    hashes: &BTreeMap<u64, Hash>,
) -> Result<bool, StoreError> {
    let client_id = &*head.client_id;
    let end = hashes.keys().next_back().copied().unwrap_or(begin);
    let before: Option<String> = main
        .prepare_cached(
            "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq <= ?2 \
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row((client_id, number(begin)), |row| row.get(0))
        .optional()?;
    let before = before.map(|text| serde_json::from_str::<SignedCheckpoint>(&text));
    let (mut last, mut previous) = match before {
        None => (0, Checkpoint::genesis(client_id)),
        Some(Ok(before)) => (before.seq, before.checkpoint().hash()),
        Some(Err(_)) => return Ok(false),
    };
    let mut statement = main.prepare_cached(
        "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = statement.query((client_id, number(begin)))?;
    while let Some(row) = rows.next()? {
        let text: String = row.get(0)?;
        let Some(signed) = genuine(&text, keys, client_id, &previous) else { return Ok(false) };
        if signed.seq > end {
            return Ok(true);
        }
        if hashes.get(&signed.seq).is_none_or(|hash| hex(hash) != signed.head_hash) {
            return Ok(false);
        }
        (last, previous) = (signed.seq, signed.checkpoint().hash());
    }
    Ok((head.checkpoint_seq, head.checkpoint_hash) == (last, previous))
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
