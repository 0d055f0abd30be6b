//! Heads, and the number of all entries, as rows.

use super::super::db::{Db, Row, Sql, sql};
use super::super::failure::{Done, Failure};
use super::super::sql::{millis, number, unsigned};
use super::head::{Found, Head, SLICES, slice_message, total_message};
use crate::audit_chain::{AuditKeys, Hash};

/// Reads a row of all columns in their order.
pub(crate) fn read_row(keys: &AuditKeys, row: &Row<'_>) -> Done<Found> {
    // A hash of another length is not the instance's, so the MAC will not match.
    let hash =
        |column| Ok::<Hash, Failure>(row.get::<Vec<u8>>(column)?.try_into().unwrap_or_default());
    let head = Head {
        client_id: row.get(0)?,
        seq: unsigned(row.get(1)?),
        entry_hash: hash(2)?,
        checkpoint_seq: unsigned(row.get(3)?),
        checkpoint_hash: hash(4)?,
        open_since: row.time_if_any(5)?,
    };
    Ok(head.checked(keys, &row.bytes(6)?))
}

/// Reads the head of a chain and locks it.
pub(crate) const LOCK: Sql =
    sql("SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
         FROM audit_heads WHERE client_id = $1 {FOR UPDATE}");

/// Reads the head of a chain, and keeps other transactions from moving it until this one ends.
pub(crate) async fn lock(db: &Db<'_>, keys: &AuditKeys, client_id: &str) -> Done<Head> {
    if let Some(found) = find(db, keys, client_id).await? {
        return Ok(Head::genuine(Some(found), client_id)?);
    }
    // If several transactions find no head, one inserts it and the others wait for that one.
    insert(db, keys, &Head::before_the_first(client_id)).await?;
    let found = find(db, keys, client_id).await?;
    Ok(Head::genuine(found, client_id)?)
}

pub(crate) async fn find(db: &Db<'_>, keys: &AuditKeys, client_id: &str) -> Done<Option<Found>> {
    db.one(LOCK, &[&client_id], |row| read_row(keys, row)).await
}

/// Stores the head of a chain that has none.
pub(crate) async fn insert(db: &Db<'_>, keys: &AuditKeys, head: &Head) -> Done<()> {
    let sql = sql("INSERT INTO audit_heads (client_id, seq, entry_hash, checkpoint_seq, \
                   checkpoint_hash, open_since, mac) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                   ON CONFLICT DO NOTHING");
    store(db, sql, keys, head).await.map(drop)
}

/// Updates the stored head of a chain.
pub(crate) async fn write(db: &Db<'_>, keys: &AuditKeys, head: &Head) -> Done<()> {
    // Most heads stay open. To assign a column is to write its index, even if the value is the same.
    let same = sql("UPDATE audit_heads SET seq = $2, entry_hash = $3, checkpoint_seq = $4, \
                    checkpoint_hash = $5, mac = $7 \
                    WHERE client_id = $1 AND open_since IS NOT DISTINCT FROM $6");
    if store(db, same, keys, head).await? > 0 {
        return Ok(());
    }
    let other = sql("INSERT INTO audit_heads (client_id, seq, entry_hash, checkpoint_seq, \
                     checkpoint_hash, open_since, mac) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                     ON CONFLICT (client_id) DO UPDATE SET seq = excluded.seq, \
                     entry_hash = excluded.entry_hash, checkpoint_seq = excluded.checkpoint_seq, \
                     checkpoint_hash = excluded.checkpoint_hash, \
                     open_since = excluded.open_since, mac = excluded.mac");
    store(db, other, keys, head).await.map(drop)
}

/// Runs a statement with the columns of a head. Returns how many rows it changed.
async fn store(db: &Db<'_>, sql: Sql, keys: &AuditKeys, head: &Head) -> Done<usize> {
    let (seq, checkpoint_seq) = (number(head.seq), number(head.checkpoint_seq));
    let (entry_hash, checkpoint_hash) =
        (head.entry_hash.as_slice(), head.checkpoint_hash.as_slice());
    let (open_since, mac) = (head.open_since.map(millis), head.mac(keys));
    db.run(
        sql,
        &[&head.client_id, &seq, &entry_hash, &checkpoint_seq, &checkpoint_hash, &open_since, &mac],
    )
    .await
}

/// Inserts a head for each client that has none. Also stores the number of all entries if it was
/// never stored; from then on a missing number counts as damage.
pub(crate) async fn begin_all(db: &Db<'_>, keys: &AuditKeys) -> Done<()> {
    let without =
        sql("SELECT id FROM clients WHERE id NOT IN (SELECT client_id FROM audit_heads) \
                       AND id NOT IN (SELECT client_id FROM audit_entries) ORDER BY id");
    for client_id in db.all(without, &[], |row| row.get::<String>(0)).await? {
        insert(db, keys, &Head::before_the_first(&client_id)).await?;
    }
    let begun = sql("SELECT 1 FROM {audit_totals|audit_total} \
                     UNION ALL SELECT 1 FROM audit_heads WHERE seq > 0 LIMIT 1");
    if db.one(begun, &[], |_| Ok(())).await?.is_some() {
        return Ok(());
    }
    // If several nodes do this at the same time, the first one writes the numbers.
    let none = sql("INSERT INTO {audit_totals (slice,|audit_total (id,} entries, mac) \
                    VALUES ({$1|1}, 0, $2) ON CONFLICT DO NOTHING");
    for slice in 0..slices(db) {
        db.run(none, &[&slice, &keys.mac(&count_message(db, slice, 0))]).await?;
    }
    Ok(())
}

/// Stores the number of all entries, or of those in one slice.
pub(crate) async fn set_total(db: &Db<'_>, keys: &AuditKeys, slice: i64, entries: u64) -> Done<()> {
    let sql = sql("INSERT INTO {audit_totals (slice,|audit_total (id,} entries, mac) \
                   VALUES ({$1|1}, $2, $3) ON CONFLICT ({slice|id}) DO UPDATE \
                   SET entries = excluded.entries, mac = excluded.mac");
    let mac = keys.mac(&count_message(db, slice, entries));
    db.run(sql, &[&slice, &number(entries), &mac]).await.map(drop)
}

/// The number of slices that the number of all entries is divided into.
const fn slices(db: &Db<'_>) -> i64 {
    if matches!(db, Db::Sqlite(_)) { 1 } else { SLICES }
}

/// The number of entries in all chains. `None`: the number or one of its slices is missing, or its
/// MAC is not the instance's. This finds chains that were deleted or reset together with their
/// heads.
pub(crate) async fn total(db: &Db<'_>, keys: &AuditKeys) -> Done<Option<u64>> {
    let sql = sql("SELECT {slice|0}, entries, mac FROM {audit_totals|audit_total}");
    let read = |row: &Row<'_>| {
        let (slice, entries) = (row.get(0)?, unsigned(row.get(1)?));
        let message = count_message(db, slice, entries);
        Ok(keys.is_mac(&message, &row.bytes(2)?).then_some(entries))
    };
    let found = db.all(sql, &[], read).await?;
    // All slices exist from the start.
    if number(found.len()) != slices(db) {
        return Ok(None);
    }
    Ok(found.into_iter().try_fold(0_u64, |sum, entries| Some(sum.saturating_add(entries?))))
}

/// The bytes that the MAC of a stored number of entries covers. SQLite has one number, PostgreSQL
/// one for each slice.
pub(crate) fn count_message(db: &Db<'_>, slice: i64, entries: u64) -> Vec<u8> {
    if matches!(db, Db::Sqlite(_)) { total_message(entries) } else { slice_message(slice, entries) }
}
