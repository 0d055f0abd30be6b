//! Removes audit entries past the operator's retention (decisions 25), from the beginning of a
//! chain. Each entry is first verified against its neighbours and against the checkpoints that
//! cover it. A signed record of where the removed part ended is stored with the chain. The age of
//! an entry is the caller's time minus the entry's own.

use idgate_core::UnixMillis;

use super::super::db::{Db, sql};
use super::super::failure::{Done, Failure};
use super::super::sql::number;
use super::checkpoints::confirm;
use super::page::entry;
use super::proof::Old;
use super::{Head, altered, heads};
use crate::audit_chain::AuditKeys;

/// The row that says when the clock was last set. Like the database's id, it is not sealed.
const HELD: &str = "removals_held_since";

/// At most `limit` chains whose first entry is older than `before`, in the order of their names,
/// after `last`.
pub(crate) async fn old_chains(
    db: &Db<'_>,
    last: &str,
    before: UnixMillis,
    limit: usize,
) -> Done<Vec<String>> {
    let sql = sql("SELECT client_id FROM audit_heads AS h WHERE client_id > $1 \
         AND (SELECT {CAST(}e.fields{ AS json)} ->> 'occurred_at' FROM audit_entries AS e \
              WHERE e.client_id = h.client_id ORDER BY e.seq LIMIT 1) {COLLATE \"C\"} < $2 \
         ORDER BY client_id LIMIT $3");
    db.all(sql, &[&last, &before.to_string(), &number(limit)], |row| row.get(0)).await
}

/// The time of the latest entry in all chains.
pub(crate) async fn newest(db: &Db<'_>) -> Done<Option<UnixMillis>> {
    let sql = sql("SELECT max(({CAST(}e.fields{ AS json)} ->> 'occurred_at') {COLLATE \"C\"}) \
                   FROM audit_heads AS h \
                   JOIN audit_entries AS e ON e.client_id = h.client_id AND e.seq = h.seq");
    let newest = db.one(sql, &[], |row| row.get::<Option<String>>(0)).await?;
    Ok(newest.flatten().as_deref().and_then(UnixMillis::parse_rfc3339))
}

/// Notes that the ages of entries cannot be trusted.
pub(crate) async fn hold(db: &Db<'_>, since: UnixMillis) -> Done<()> {
    let sql = sql("INSERT INTO instance (name, sealed) VALUES ($1, $2) \
                   ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed");
    db.run(sql, &[&HELD, &since.0.to_be_bytes().as_slice()]).await.map(drop)
}

/// Since when ages cannot be trusted.
pub(crate) async fn held_since(db: &Db<'_>) -> Done<Option<UnixMillis>> {
    let sql = sql("SELECT sealed FROM instance WHERE name = $1");
    let since = db.one(sql, &[&HELD], |row| row.get::<Vec<u8>>(0)).await?;
    // A damaged value counts as a time in the far future, so that damage never removes anything.
    let time = |bytes: Vec<u8>| bytes.try_into().map_or(u64::MAX, u64::from_be_bytes);
    Ok(since.map(|bytes| UnixMillis(time(bytes))))
}

/// Removes at most `limit` entries older than `before` from a chain, and returns how many. An
/// altered chain is left as it is: retention must not erase the evidence.
pub(crate) async fn remove_old(
    db: &Db<'_>,
    keys: &AuditKeys,
    client_id: &str,
    (before, limit): (UnixMillis, usize),
    now: UnixMillis,
) -> Done<usize> {
    let head = heads::lock(db, keys, client_id).await?;
    let record = sql("SELECT signed FROM audit_removals WHERE client_id = $1");
    let record: Option<String> = db.one(record, &[&client_id], |row| row.get(0)).await?;
    let first = sql("SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
                     WHERE client_id = $1 ORDER BY seq LIMIT $2");
    let first = db.all(first, &[&client_id, &number(limit)], entry).await?;
    let old = Old::of(keys, client_id, record.as_deref(), &first, before)?;
    if old.len() == 0 {
        return Ok(0);
    }
    if !confirm(db, keys, &head, &old).await? {
        return Err(Failure::failed(altered(client_id)));
    }
    let remove = sql("DELETE FROM audit_entries WHERE client_id = $1 AND seq <= $2");
    db.run(remove, &[&client_id, &number(old.end())]).await?;
    let note = sql("INSERT INTO audit_removals (client_id, signed) VALUES ($1, $2) \
                    ON CONFLICT (client_id) DO UPDATE SET signed = excluded.signed");
    db.run(note, &[&client_id, &old.record(keys, now)]).await?;
    Ok(old.len())
}

/// Whether the next entry and the head match the last removed entry.
pub(super) async fn is_followed(db: &Db<'_>, head: &Head, old: &Old<'_>) -> Done<bool> {
    let sql = sql("SELECT prev_hash FROM audit_entries WHERE client_id = $1 AND seq = $2");
    let next = number(old.end().saturating_add(1));
    let next: Option<Vec<u8>> = db.one(sql, &[&head.client_id, &next], |row| row.get(0)).await?;
    Ok(old.is_followed(head, next.as_deref()))
}
