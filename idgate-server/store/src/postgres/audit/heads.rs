//! Heads, and the number of all entries, as rows.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use tokio_postgres::Row;

use super::super::error::Done;
use super::super::pool::{Pool, Tx};
use super::is_altered;
use crate::audit::Head;
use crate::audit::head::{Added, SLICES, slice_message};
use crate::audit::heads::{begin_all, set_total};
use crate::audit_chain::AuditKeys;
use crate::db::Db;
use crate::postgres_statements::{Parameters, execute, row, rows};
use crate::sql::{millis, number, unsigned};

/// Locks a slice of the number of all entries.
pub(in crate::postgres) const LOCK_SLICE: &str =
    "SELECT slice, entries, mac FROM audit_totals WHERE slice = $1 FOR UPDATE";

/// Writes a head, and adds its new entries to their slice of the number of all entries.
const WRITE_AND_COUNT: &str = "\
    WITH counted AS (UPDATE audit_totals SET entries = $9, mac = $10 WHERE slice = $8) \
    UPDATE audit_heads SET seq = $2, entry_hash = $3, checkpoint_seq = $4, checkpoint_hash = $5, \
    open_since = $6, mac = $7 WHERE client_id = $1";

/// A slice of the number of all entries, locked until the transaction ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    number: i64,
    entries: u64,
}

/// Writes a head and adds this many entries to the slice.
pub(super) async fn write(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    head: &Head,
    (slice, more): (Slice, usize),
) -> Done<()> {
    let (seq, checkpoint_seq) = (number(head.seq), number(head.checkpoint_seq));
    let (entry_hash, checkpoint_hash) = (&head.entry_hash[..], &head.checkpoint_hash[..]);
    let (open_since, mac) = (head.open_since.map(millis), head.mac(keys));
    let of_head: Parameters<'_> =
        &[&head.client_id, &seq, &entry_hash, &checkpoint_seq, &checkpoint_hash, &open_since, &mac];
    let more = u64::try_from(more).unwrap_or(u64::MAX);
    let entries = slice.entries.saturating_add(more);
    let (stored, mac) = (number(entries), keys.mac(&slice_message(slice.number, entries)));
    let of_slice: Parameters<'_> = &[&slice.number, &stored, &mac];
    execute(tx, WRITE_AND_COUNT, &[of_head, of_slice].concat()).await?;
    Ok(())
}

pub(super) async fn insert_entries(tx: &Tx<'_>, client_id: &str, added: &[Added]) -> Done<()> {
    if added.is_empty() {
        return Ok(());
    }
    let seqs: Vec<i64> = added.iter().map(|entry| number(entry.seq)).collect();
    let fields: Vec<&str> = added.iter().map(|entry| &*entry.fields).collect();
    let before: Vec<&[u8]> = added.iter().map(|entry| &entry.prev_hash[..]).collect();
    let hashes: Vec<&[u8]> = added.iter().map(|entry| &entry.entry_hash[..]).collect();
    execute(
        tx,
        "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
         SELECT $1, a.seq, a.fields, a.prev_hash, a.entry_hash \
         FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[]) \
         AS a (seq, fields, prev_hash, entry_hash)",
        &[&client_id, &seqs, &fields, &before, &hashes],
    )
    .await?;
    Ok(())
}

/// Inserts a head for each client that has none. Also stores the number of all entries if it was
/// never stored; from then on a missing number counts as damage.
pub(in crate::postgres) async fn begin(pool: &Pool, keys: &AuditKeys) -> Done<()> {
    pool.transact(keys, |keys, tx| {
        Box::pin(async move { begin_all(&Db::Transaction(tx), keys).await })
    })
    .await
}

/// Counts all entries again, from the heads.
pub(in crate::postgres) async fn recount(tx: &Tx<'_>, keys: &AuditKeys) -> Done<()> {
    let (db, mut slices) = (Db::Transaction(tx), BTreeMap::new());
    for head in rows(tx, "SELECT client_id, seq FROM audit_heads", &[]).await? {
        let (client_id, seq): (String, i64) = (head.try_get(0)?, head.try_get(1)?);
        let entries: &mut u64 = slices.entry(slice_of(&client_id)).or_default();
        *entries = entries.saturating_add(unsigned(seq));
    }
    for slice in 0..SLICES {
        let entries = slices.get(&slice).copied().unwrap_or(0);
        set_total(&db, keys, slice, entries).await?;
    }
    Ok(())
}

/// Locks the slice that counts the entries of `client_id`.
pub(super) async fn lock_slice(tx: &Tx<'_>, keys: &AuditKeys, client_id: &str) -> Done<Slice> {
    let number = slice_of(client_id);
    let found = row(tx, LOCK_SLICE, &[&number]).await?;
    let entries = found.map(|found| counted(keys, &found)).transpose()?.flatten();
    // All slices exist from the start.
    Ok(Slice { number, entries: entries.ok_or_else(|| is_altered("any client"))? })
}

fn counted(keys: &AuditKeys, row: &Row) -> Done<Option<u64>> {
    let (slice, entries): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let entries = unsigned(entries);
    Ok(keys.is_mac(&slice_message(slice, entries), row.try_get(2)?).then_some(entries))
}

fn slice_of(client_id: &str) -> i64 {
    let first = digest(&SHA256, client_id.as_bytes()).as_ref().first().copied().unwrap_or(0);
    i64::from(first).checked_rem(SLICES).unwrap_or(0)
}
