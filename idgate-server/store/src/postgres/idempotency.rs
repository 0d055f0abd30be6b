//! New sessions under an `Idempotency-Key`. If several requests use one key, on any nodes, the
//! first to store its answer creates the session. The others wait for its commit and find the
//! answer.

use super::super::db::Db;
use super::super::idempotency::{Created, SealedOnce, find, insert};
use super::change::Change;
use super::error::{Done, Failure};
use super::pool::Tx;
use super::sessions::{store, surely};
use super::shared::Shared;
use crate::failure::Boxed;

/// Stores a new session with its answer, unless the key was used before.
pub(super) async fn create_once(
    shared: &Shared,
    change: &Change,
    once: &SealedOnce,
) -> Done<Created> {
    let with = (shared, change, once);
    let work = || -> Boxed<'_, Created> {
        Box::pin(async {
            let create = shared.pool.transact(&with, |&(shared, change, once), tx| {
                Box::pin(create_in(shared, change, once, tx))
            });
            match create.await {
                Err(Failure::NoRoom) => Ok(Created::NoRoom),
                done => done,
            }
        })
    };
    surely(shared, change, &work, (None, Created::Made)).await
}

async fn create_in(
    shared: &Shared,
    change: &Change,
    once: &SealedOnce,
    tx: &Tx<'_>,
) -> Done<Created> {
    let (session, db) = (change.session(), Db::Transaction(tx));
    if !insert(&db, session, once).await? {
        // The first request has committed. If its session is deleted at this very moment, the key
        // is free again.
        let (client_id, now) = (session.tenant().as_str(), session.created_at());
        let earlier = find(&db, client_id, &once.once.key, now).await?;
        let earlier = earlier.ok_or_else(|| Failure::Again("a free key".into()))?;
        // An earlier try was committed, although its acknowledgement was lost.
        let is_own = earlier.session_id == session.id().as_str();
        return Ok(if is_own { Created::Made } else { Created::Earlier(earlier) });
    }
    store(shared, tx, &[change]).await?;
    Ok(Created::Made)
}
