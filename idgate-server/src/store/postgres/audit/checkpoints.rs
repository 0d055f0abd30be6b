//! Checkpoints: signed when due, and written to a file elsewhere after their commit. Nodes that sign at
//! the same time sign different chains.

use idgate_core::time::UnixMillis;

use super::super::super::audit::Head;
use super::super::super::audit::proof::{Footing, Old};
use super::super::super::interface::{SignedChains, UnwrittenCheckpoint};
use super::super::super::sql::{millis, number, one_more, unsigned};
use super::super::error::Done;
use super::super::pool::{Pool, Tx};
use super::super::shared::Shared;
use super::super::sql::{execute, row, rows};
use super::{heads, removal};
use crate::audit::AuditKeys;

/// Signs a checkpoint for each chain, `limit` at most, that has had entries without one since
/// `before` or longer. An altered chain holds up none of the others; one that another transaction is
/// at is signed the next time.
pub(in crate::store) async fn sign_due(
    pool: &Pool,
    keys: &AuditKeys,
    before: UnixMillis,
    limit: usize,
    now: UnixMillis,
) -> Done<SignedChains> {
    let with = (keys, millis(before), number(limit), now);
    pool.transact(&with, |&(keys, before, limit, now), tx| {
        Box::pin(async move {
            let sql = format!(
                "SELECT {} FROM audit_heads WHERE open_since <= $1 ORDER BY open_since LIMIT $2 \
                 FOR UPDATE SKIP LOCKED",
                heads::COLUMNS
            );
            let mut chains = SignedChains::default();
            for due in rows(tx, &sql, &[&before, &limit]).await? {
                let (mut head, genuine) = heads::from_row(keys, &due)?;
                if !genuine || !is_last_intact(tx, &head).await? {
                    chains.altered.push(head.client_id);
                    continue;
                }
                sign(tx, keys, &mut head, now).await?;
                heads::write(tx, keys, &head, None).await?;
                chains.signed = chains.signed.saturating_add(1);
            }
            Ok(chains)
        })
    })
    .await
}

/// Signs where the chain ends now; the head itself is written later.
pub(super) async fn sign(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    head: &mut Head,
    now: UnixMillis,
) -> Done<()> {
    let line = head.sign(keys, now);
    execute(
        tx,
        "INSERT INTO audit_checkpoints (client_id, seq, signed) VALUES ($1, $2, $3)",
        &[&head.client_id, &number(head.seq), &line],
    )
    .await?;
    Ok(())
}

/// Whether what a chain's head stands on is stored as it was.
pub(super) async fn is_last_intact(tx: &Tx<'_>, head: &Head) -> Done<bool> {
    let found = row(
        tx,
        "SELECT (SELECT entry_hash FROM audit_entries WHERE client_id = $1 AND seq = $2), \
         (SELECT entry_hash FROM audit_entries WHERE client_id = $1 AND seq = $3), \
         (SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq = $3), \
         (SELECT signed FROM audit_removals WHERE client_id = $1)",
        &[&head.client_id, &number(head.seq), &number(head.checkpoint_seq)],
    )
    .await?;
    let Some(found) = found else { return Ok(false) };
    let footing = Footing {
        at_head: found.try_get(0)?,
        at_checkpoint: found.try_get(1)?,
        checkpoint: found.try_get(2)?,
        removal: found.try_get(3)?,
    };
    Ok(footing.bears(head))
}

/// Whether what is to be removed is what the checkpoints of it say.
pub(super) async fn confirm(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    head: &Head,
    old: &Old<'_>,
) -> Done<bool> {
    let (client_id, begin) = (&head.client_id, number(old.begin));
    let earlier = row(
        tx,
        "SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq <= $2 \
         ORDER BY seq DESC LIMIT 1",
        &[client_id, &begin],
    )
    .await?;
    let earlier: Option<String> = earlier.map(|row| row.try_get(0)).transpose()?;
    // An entry has at most one.
    let later = rows(
        tx,
        "SELECT signed FROM audit_checkpoints WHERE client_id = $1 AND seq > $2 \
         ORDER BY seq LIMIT $3",
        &[client_id, &begin, &one_more(old.len())],
    )
    .await?;
    let later = later.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    Ok(old.is_confirmed(keys, head, earlier.as_deref(), &later)
        && removal::is_followed(tx, head, old).await?)
}

/// At most `limit` checkpoints that are in no file yet.
pub(in crate::store::postgres) async fn unwritten(
    shared: &Shared,
    limit: usize,
) -> Done<Vec<UnwrittenCheckpoint>> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "SELECT client_id, seq, signed FROM audit_checkpoints WHERE NOT written \
         ORDER BY client_id, seq LIMIT $1",
        &[&number(limit)],
    )
    .await?;
    let checkpoint = |row: &tokio_postgres::Row| {
        let seq = unsigned(row.try_get(1)?);
        Ok(UnwrittenCheckpoint { client_id: row.try_get(0)?, seq, line: row.try_get(2)? })
    };
    found.iter().map(checkpoint).collect()
}

/// Notes that the file has these.
pub(in crate::store::postgres) async fn mark_written(
    shared: &Shared,
    written: &[UnwrittenCheckpoint],
) -> Done<()> {
    let client = shared.pool.client().await?;
    let names: Vec<&str> = written.iter().map(|checkpoint| &*checkpoint.client_id).collect();
    let seqs: Vec<i64> = written.iter().map(|checkpoint| number(checkpoint.seq)).collect();
    execute(
        &client,
        "UPDATE audit_checkpoints AS c SET written = true \
         FROM unnest($1::text[], $2::bigint[]) AS w (client_id, seq) \
         WHERE c.client_id = w.client_id AND c.seq = w.seq",
        &[&names, &seqs],
    )
    .await?;
    Ok(())
}
