//! Removing what is older than the operator wants to keep (decisions 25): from the beginning of a
//! chain, entry by entry verified first, behind a signed record of where it ended. How old an entry is,
//! is a matter of the time that it says and of the caller's.

use idgate_core::time::UnixMillis;

use super::super::super::audit::Head;
use super::super::super::audit::proof::Old;
use super::super::super::sql::number;
use super::super::error::Done;
use super::super::pool::Tx;
use super::super::shared::Shared;
use super::super::sql::{execute, row, rows};
use super::checkpoints::confirm;
use super::page::entry;
use super::{heads, is_altered};
use crate::audit::AuditKeys;

/// Where it stands when the clock was last set; plain, as the database's own id is.
const HELD: &str = "removals_held_since";

/// Chains, at most `limit`, whose first entry is from before `before`, by name from `last` on.
pub(in crate::store::postgres) async fn old_chains(
    shared: &Shared,
    last: &str,
    before: UnixMillis,
    limit: usize,
) -> Done<Vec<String>> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "SELECT client_id FROM audit_heads AS h WHERE client_id > $1 \
         AND (SELECT e.fields::json ->> 'occurred_at' FROM audit_entries AS e \
              WHERE e.client_id = h.client_id ORDER BY e.seq LIMIT 1) COLLATE \"C\" < $2 \
         ORDER BY client_id LIMIT $3",
        &[&last, &before.to_string(), &number(limit)],
    )
    .await?;
    Ok(found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// When the latest entry of all chains was made.
pub(in crate::store::postgres) async fn newest(shared: &Shared) -> Done<Option<UnixMillis>> {
    let client = shared.pool.client().await?;
    let newest = row(
        &client,
        "SELECT max((e.fields::json ->> 'occurred_at') COLLATE \"C\") FROM audit_heads AS h \
         JOIN audit_entries AS e ON e.client_id = h.client_id AND e.seq = h.seq",
        &[],
    )
    .await?;
    let newest: Option<Option<String>> = newest.map(|row| row.try_get(0)).transpose()?;
    Ok(newest.flatten().as_deref().and_then(UnixMillis::parse_rfc3339))
}

/// Notes that ages cannot be trusted.
pub(in crate::store::postgres) async fn hold(shared: &Shared, since: UnixMillis) -> Done<()> {
    let client = shared.pool.client().await?;
    execute(
        &client,
        "INSERT INTO instance (name, sealed) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed",
        &[&HELD, &&since.0.to_be_bytes()[..]],
    )
    .await?;
    Ok(())
}

/// Since when they cannot.
pub(in crate::store::postgres) async fn held_since(shared: &Shared) -> Done<Option<UnixMillis>> {
    let client = shared.pool.client().await?;
    let since = row(&client, "SELECT sealed FROM instance WHERE name = $1", &[&HELD]).await?;
    let since: Option<Vec<u8>> = since.map(|row| row.try_get(0)).transpose()?;
    // What is no time holds: nothing is removed on account of damage.
    let time = |bytes: Vec<u8>| bytes.try_into().map_or(u64::MAX, u64::from_be_bytes);
    Ok(since.map(|bytes| UnixMillis(time(bytes))))
}

/// Removes at most `limit` entries of a chain from before `before`, and says how many. A chain that
/// was altered stays as it is: what was done to it must not go with its age.
pub(in crate::store::postgres) async fn remove_old(
    shared: &Shared,
    client_id: &str,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Done<usize> {
    let with = (&shared.audit, client_id, before, number(limit), now);
    shared
        .pool
        .transact(&with, |&(keys, client_id, before, limit, now), tx| {
            Box::pin(async move {
                let head = heads::lock(tx, keys, client_id).await?;
                remove_of(tx, keys, &head, (before, limit), now).await
            })
        })
        .await
}

async fn remove_of(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    head: &Head,
    (before, limit): (UnixMillis, i64),
    now: UnixMillis,
) -> Done<usize> {
    let client_id = &*head.client_id;
    let record =
        row(tx, "SELECT signed FROM audit_removals WHERE client_id = $1", &[&client_id]).await?;
    let record: Option<String> = record.map(|row| row.try_get(0)).transpose()?;
    let first = rows(
        tx,
        "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
         WHERE client_id = $1 ORDER BY seq LIMIT $2",
        &[&client_id, &limit],
    )
    .await?;
    let first = first.iter().map(entry).collect::<Done<Vec<_>>>()?;
    let old = Old::of(keys, client_id, record.as_deref(), &first, before)?;
    if old.len() == 0 {
        return Ok(0);
    }
    if !confirm(tx, keys, head, &old).await? {
        return Err(is_altered(client_id));
    }
    execute(
        tx,
        "DELETE FROM audit_entries WHERE client_id = $1 AND seq <= $2",
        &[&client_id, &number(old.end())],
    )
    .await?;
    execute(
        tx,
        "INSERT INTO audit_removals (client_id, signed) VALUES ($1, $2) \
         ON CONFLICT (client_id) DO UPDATE SET signed = excluded.signed",
        &[&client_id, &old.record(keys, now)],
    )
    .await?;
    Ok(old.len())
}

pub(super) async fn is_followed(tx: &Tx<'_>, head: &Head, old: &Old<'_>) -> Done<bool> {
    let next = row(
        tx,
        "SELECT prev_hash FROM audit_entries WHERE client_id = $1 AND seq = $2",
        &[&head.client_id, &number(old.end().saturating_add(1))],
    )
    .await?;
    let next: Option<Vec<u8>> = next.map(|row| row.try_get(0)).transpose()?;
    Ok(old.is_followed(head, next.as_deref()))
}
