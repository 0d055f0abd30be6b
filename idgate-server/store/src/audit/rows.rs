//! Reads the log for verification and export. The heads are read in one snapshot and the entries up
//! to them in pages, so that no read keeps the database from removing old rows.

use std::collections::BTreeMap;

use super::super::db::{Db, sql};
use super::super::failure::Done;
use super::super::sql::{number, unsigned};
use super::heads::{read_row, total};
use super::page::entry;
use super::proof::EntryRow;
use super::report::{Chain, Moment};
use crate::audit_chain::AuditKeys;

/// All chains, or the chain of `client`, in one snapshot.
pub(crate) async fn moment(db: &Db<'_>, keys: &AuditKeys, client: Option<&str>) -> Done<Moment> {
    let named = match client {
        Some(client) => vec![client.to_owned()],
        None => chain_names(db).await?,
    };
    let mut chains = BTreeMap::new();
    for client_id in named {
        if let Some(chain) = chain(db, keys, &client_id).await? {
            chains.insert(client_id, chain);
        }
    }
    let without = sql("SELECT id FROM clients WHERE (CAST($1 AS text) IS NULL OR id = $1) \
                       AND id NOT IN (SELECT client_id FROM audit_heads)");
    let without: Vec<String> = db.all(without, &[&client], |row| row.get(0)).await?;
    // A chain with entries but without a head is reported at its end.
    let without_chain = without.into_iter().filter(|id| !chains.contains_key(id)).collect();
    let total = total(db, keys).await?;
    Ok(Moment { chains, total, without_chain })
}

/// At most `limit` entries of a chain within these bounds, both included.
pub(crate) async fn entries(
    db: &Db<'_>,
    client_id: &str,
    (first, last): (i64, u64),
    limit: usize,
) -> Done<Vec<EntryRow>> {
    let sql = sql("SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
                   WHERE client_id = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq LIMIT $4");
    db.all(sql, &[&client_id, &first, &number(last), &number(limit)], entry).await
}

/// The stored parts of a chain. `None`: it has none.
async fn chain(db: &Db<'_>, keys: &AuditKeys, client_id: &str) -> Done<Option<Chain>> {
    let head = sql("SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, \
                    open_since, mac FROM audit_heads WHERE client_id = $1");
    let head = db.one(head, &[&client_id], |row| read_row(keys, row)).await?;
    let ends = sql("SELECT (SELECT max(seq) FROM audit_entries WHERE client_id = $1), \
                    (SELECT signed FROM audit_removals WHERE client_id = $1)");
    let ends = db.one(ends, &[&client_id], |row| Ok((row.get(0)?, row.get(1)?))).await?;
    let (last, removal): (Option<i64>, Option<String>) = ends.unwrap_or_default();
    let checkpoints = sql("SELECT signed FROM audit_checkpoints WHERE client_id = $1 ORDER BY seq");
    let checkpoints: Vec<String> = db.all(checkpoints, &[&client_id], |row| row.get(0)).await?;
    let is_there = head.is_some() || last.is_some() || !checkpoints.is_empty() || removal.is_some();
    let (client_id, last) = (client_id.to_owned(), unsigned(last.unwrap_or(0)));
    Ok(is_there.then_some(Chain { client_id, head, last, checkpoints, removal }))
}

/// The names of all chains, from heads, entries, checkpoints and removals, since an attacker may
/// have removed any of them.
async fn chain_names(db: &Db<'_>) -> Done<Vec<String>> {
    let sql = sql("WITH RECURSIVE \
           e (id) AS (SELECT min(client_id) FROM audit_entries UNION ALL \
             SELECT (SELECT min(client_id) FROM audit_entries WHERE client_id > e.id) FROM e \
             WHERE e.id IS NOT NULL), \
           c (id) AS (SELECT min(client_id) FROM audit_checkpoints UNION ALL \
             SELECT (SELECT min(client_id) FROM audit_checkpoints WHERE client_id > c.id) FROM c \
             WHERE c.id IS NOT NULL) \
         SELECT client_id FROM audit_heads UNION SELECT id FROM e WHERE id IS NOT NULL \
         UNION SELECT id FROM c WHERE id IS NOT NULL \
         UNION SELECT client_id FROM audit_removals");
    db.all(sql, &[], |row| row.get(0)).await
}
