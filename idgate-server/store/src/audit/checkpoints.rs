//! Checkpoints. They are signed when due, and copied to a file outside the database after the
//! commit. Nodes that sign at the same time sign different chains.

use idgate_core::UnixMillis;
use serde_json::json;

use super::super::db::{Db, Row, sql};
use super::super::failure::Done;
use super::super::sql::{millis, number, one_more, unsigned};
use super::super::types::{SignedChains, UnwrittenCheckpoint};
use super::heads::{self, read_row};
use super::proof::{Footing, Old};
use super::{Head, removal};
use crate::audit_chain::AuditKeys;

/// Signs a checkpoint for at most `limit` chains whose oldest unsigned entry is from `before` or
/// earlier. An altered chain does not hold up the others. A chain that another transaction has
/// locked is signed next time.
pub(crate) async fn sign_due(
    db: &Db<'_>,
    keys: &AuditKeys,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Done<SignedChains> {
    let sql =
        sql("SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, \
                   mac FROM audit_heads WHERE open_since <= $1 ORDER BY open_since LIMIT $2 \
                   {FOR UPDATE SKIP LOCKED}");
    let due = db.all(sql, &[&millis(before), &number(limit)], |row| read_row(keys, row)).await?;
    let mut chains = SignedChains::default();
    for (mut head, genuine) in due {
        if !genuine || !is_last_intact(db, &head).await? {
            chains.altered.push(head.client_id);
            continue;
        }
        sign(db, keys, &mut head, now).await?;
        heads::write(db, keys, &head).await?;
        chains.signed = chains.signed.saturating_add(1);
    }
    Ok(chains)
}

/// Signs the current end of the chain. The caller writes the head.
pub(crate) async fn sign(
    db: &Db<'_>,
    keys: &AuditKeys,
    head: &mut Head,
    now: UnixMillis,
) -> Done<()> {
    let line = head.sign(keys, now);
    let sql = sql("INSERT INTO audit_checkpoints (client_id, seq, signed) VALUES ($1, $2, $3)");
    db.run(sql, &[&head.client_id, &number(head.seq), &line]).await.map(drop)
}

/// Whether the last checkpoint and the entries that a chain's head depends on are stored unchanged.
pub(crate) async fn is_last_intact(db: &Db<'_>, head: &Head) -> Done<bool> {
    let sql = sql("SELECT \
         (SELECT entry_hash FROM audit_entries WHERE client_id = $1 AND seq = $2), \
         (SELECT entry_hash FROM audit_entries WHERE client_id = $1 AND seq = $3), \
         (SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq = $3), \
         (SELECT signed FROM audit_removals WHERE client_id = $1)");
    let (seq, checkpoint_seq) = (number(head.seq), number(head.checkpoint_seq));
    let footing = db
        .one(sql, &[&head.client_id, &seq, &checkpoint_seq], |row| {
            Ok(Footing {
                at_head: row.get(0)?,
                at_checkpoint: row.get(1)?,
                checkpoint: row.get(2)?,
                removal: row.get(3)?,
            })
        })
        .await?;
    Ok(footing.is_some_and(|footing| footing.bears(head)))
}

/// Whether the entries to be removed match the checkpoints that cover them.
pub(super) async fn confirm(
    db: &Db<'_>,
    keys: &AuditKeys,
    head: &Head,
    old: &Old<'_>,
) -> Done<bool> {
    let (client_id, begin) = (&head.client_id, number(old.begin));
    let earlier = sql("SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq <= $2 \
                       ORDER BY seq DESC LIMIT 1");
    let earlier: Option<String> = db.one(earlier, &[client_id, &begin], |row| row.get(0)).await?;
    // An entry has at most one checkpoint.
    let later = sql("SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq > $2 \
                     ORDER BY seq LIMIT $3");
    let later: Vec<String> =
        db.all(later, &[client_id, &begin, &one_more(old.len())], |row| row.get(0)).await?;
    Ok(old.is_confirmed(keys, head, earlier.as_deref(), &later)
        && removal::is_followed(db, head, old).await?)
}

/// At most `limit` checkpoints that are not in a file yet.
pub(crate) async fn unwritten(db: &Db<'_>, limit: usize) -> Done<Vec<UnwrittenCheckpoint>> {
    let sql = sql(
        "SELECT client_id, seq, signed FROM audit_checkpoints WHERE {NOT written|written = 0} \
                   ORDER BY client_id, seq LIMIT $1",
    );
    let read = |row: &Row<'_>| {
        let seq = unsigned(row.get(1)?);
        Ok(UnwrittenCheckpoint { client_id: row.get(0)?, seq, line: row.get(2)? })
    };
    db.all(sql, &[&number(limit)], read).await
}

/// Notes that the file has these checkpoints.
pub(crate) async fn mark_written(db: &Db<'_>, written: &[UnwrittenCheckpoint]) -> Done<()> {
    let sql = sql("UPDATE audit_checkpoints SET written = true WHERE (client_id, seq) IN (SELECT \
         {client_id, seq FROM json_to_recordset(CAST(CAST($1 AS text) AS json)) \
             AS w (client_id text, seq bigint)|\
         value ->> 'client_id', value ->> 'seq' FROM json_each($1)})");
    let each = written.iter().map(|it| json!({ "client_id": it.client_id, "seq": it.seq }));
    let names = serde_json::Value::from_iter(each).to_string();
    db.run(sql, &[&names]).await.map(drop)
}
