//! Removing sessions.

use idgate_core::{SessionId, UnixMillis};

use super::super::super::types::{Caller, StoreError};
use super::super::error::{Done, Failure};
use super::super::shared::Shared;
use super::super::{audit, claims, outbox};
use crate::audit_chain::AuditEvent;
use crate::db::Db;
use crate::postgres_statements::row;
use crate::quotas::close_sessions;
use crate::sessions;

/// Removes a session of the caller with its events, its result and its notification.
pub(super) async fn delete(
    shared: &Shared,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Done<bool> {
    let with = (shared, caller, id.as_str());
    let work = shared.pool.transact(&with, |&(shared, caller, id), tx| {
        Box::pin(async move {
            let client_id = caller.client_id.as_str();
            let db = Db::Transaction(tx);
            let removed = sessions::remove(&db, caller, id).await?;
            let Some((settled_at, slot)) = removed else { return Ok(false) };
            if let Some(slot) = slot {
                claims::remove(tx, slot, id).await?;
            }
            if settled_at.is_none() {
                close_sessions(&db, client_id, 1).await?;
            }
            let event = AuditEvent::deleted(id, now).by(&caller.key_id);
            audit::append(tx, &shared.env.audit, client_id, event).await?;
            outbox::remove_of_session(tx, id).await?;
            Ok(true)
        })
    });
    match work.await {
        // A deleted session never comes back, so if it is gone, this or another deletion was
        // committed.
        Err(Failure::InDoubt(why)) => {
            let client = shared.pool.client().await?;
            let sql = "SELECT FROM sessions WHERE id = $1 FOR UPDATE";
            match row(&client, sql, &[&id.as_str()]).await? {
                None => Ok(true),
                Some(_) => Err(Failure::Store(StoreError::Unavailable(why))),
            }
        }
        done => done,
    }
}
