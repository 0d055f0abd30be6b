//! A caller's session with its result, which is in a table of its own.

use idgate_core::{Session, UnixMillis};

use super::super::super::types::{Caller, SessionFound, StoreError};
use super::super::claims;
use super::super::error::Done;
use super::super::shared::Shared;
use crate::authentication::{Authenticated, authenticate, store_uses};
use crate::db::Db;
use crate::postgres_statements::row;
use crate::sessions::{CallersSession, of_caller};

/// The owner of a key, and the owner's session of this id or the reason why it cannot be read.
pub(super) async fn authenticated(
    shared: &Shared,
    digest: &[u8; 32],
    session: Option<&str>,
    now: UnixMillis,
) -> Done<Option<(Caller, SessionFound)>> {
    let client = shared.pool.client().await?;
    let db = Db::Client(&client);
    let found = authenticate(&db, &shared.env, (digest, session), now).await?;
    let Some(Authenticated { caller, session, last_used }) = found else { return Ok(None) };
    let due = shared.env.uses.note(&caller.key_id, last_used, now);
    store_uses(&db, &due).await?;
    drop(db);
    drop(client);
    let session = match session {
        Some(found) => with_result(shared, &found, now).await.map(Some),
        None => Ok(None),
    };
    Ok(Some((caller, session.map_err(StoreError::from))))
}

/// A session of the caller. The result is included while it may be read.
pub(super) async fn callers(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Done<Option<Session>> {
    let client = shared.pool.client().await?;
    let found = of_caller(&Db::Client(&client), caller, id).await?;
    drop(client);
    let Some(found) = found else { return Ok(None) };
    with_result(shared, &found, now).await.map(Some)
}

/// Whether the result of the caller's session was lost before its time.
pub(super) async fn has_lost_claims(shared: &Shared, caller: &Caller, id: &str) -> Done<bool> {
    let client = shared.pool.client().await?;
    let found = row(
        &client,
        "SELECT claims_slot FROM sessions WHERE id = $1 AND client_id = $2 AND livemode = $3 \
         AND claims_until > clock_ms()",
        &[&id, &caller.client_id.as_str(), &caller.livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(false) };
    Ok(!claims::has(&client, found.try_get(0)?, id).await?)
}

async fn with_result(
    shared: &Shared,
    (stored, slot): &CallersSession,
    now: UnixMillis,
) -> Done<Session> {
    let mut session = stored.open(&shared.env.sealer)?;
    if session.settled_at().is_some()
        && let Some(slot) = slot
        && let Some(result) = claims::read(shared, &session, *slot, now).await?
    {
        session.restore_result(result);
    }
    Ok(session)
}
