//! The audit log: one chain per client, appended in the transaction that makes the change. A
//! transaction that appends locks the row of the chain's head, so a chain has a single end
//! whichever nodes write to it. Different chains never wait for each other.
//!
//! The number of all entries is spread over several rows, chosen by the chain's name: a single row
//! would be a lock that every transaction waits for. `occurred_at` and `open_since` are the
//! callers' times.

pub(super) mod heads;

pub(super) use self::heads::begin;
use super::super::audit::{CHECKPOINT_EVERY, Head, altered, checkpoints, heads as head_rows};
use super::super::db::Db;
use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::pool::Tx;
use crate::audit_chain::{AuditEvent, AuditKeys};
use crate::postgres_statements::prepare;

/// The head of a chain, locked until the transaction ends.
pub(super) struct End {
    head: Head,
    slice: heads::Slice,
}

/// Locks the head of the chain of `client_id`.
///
/// # Errors
/// The database failed, or the instance did not write the chain's head or the number of entries.
/// Nothing more can be recorded for this client then, so nothing more is done for it.
pub(super) async fn lock(tx: &Tx<'_>, keys: &AuditKeys, client_id: &str) -> Done<End> {
    prepare_locks(tx).await?;
    let db = Db::Transaction(tx);
    let head = head_rows::lock(&db, keys, client_id);
    let (head, slice) = tokio::join!(head, heads::lock_slice(tx, keys, client_id));
    Ok(End { head: head?, slice: slice? })
}

/// Prepares the statements that lock the end of a chain, in the order in which they do.
pub(super) async fn prepare_locks(tx: &Tx<'_>) -> Done<()> {
    prepare(tx, &[&head_rows::LOCK.for_postgres(), heads::LOCK_SLICE]).await
}

impl End {
    /// Appends events in order. To be called once.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn append(
        self,
        tx: &Tx<'_>,
        keys: &AuditKeys,
        events: Vec<AuditEvent>,
    ) -> Done<()> {
        let Self { mut head, slice } = self;
        let (client_id, count) = (head.client_id.clone(), events.len());
        let mut added = Vec::new();
        for event in events {
            let now = event.occurred_at();
            added.push(head.add(event));
            if head.seq.saturating_sub(head.checkpoint_seq) < CHECKPOINT_EVERY {
                continue;
            }
            heads::insert_entries(tx, &client_id, &std::mem::take(&mut added)).await?;
            // An altered chain is not signed. The next signing of due checkpoints reports it.
            if checkpoints::is_last_intact(&Db::Transaction(tx), &head).await? {
                checkpoints::sign(&Db::Transaction(tx), keys, &mut head, now).await?;
            }
        }
        let (entered, moved) = tokio::join!(
            heads::insert_entries(tx, &client_id, &added),
            heads::write(tx, keys, &head, (slice, count)),
        );
        entered.and(moved)
    }
}

/// Appends `event` to the chain of `client_id`, whose head stays locked until the transaction ends.
///
/// # Errors
/// As [`lock`].
pub(crate) async fn append(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    client_id: &str,
    event: AuditEvent,
) -> Done<()> {
    lock(tx, keys, client_id).await?.append(tx, keys, vec![event]).await
}

/// Keeps all other transactions from appending to the chain of `client_id` until this one ends, so
/// that the state it records cannot change in between.
///
/// # Errors
/// The database failed, or the chain's head is not what the instance wrote.
pub(crate) async fn hold(tx: &Tx<'_>, keys: &AuditKeys, client_id: &str) -> Done<()> {
    head_rows::lock(&Db::Transaction(tx), keys, client_id).await.map(drop)
}

fn is_altered(client_id: &str) -> Failure {
    Failure::Store(StoreError::Failed(altered(client_id)))
}
