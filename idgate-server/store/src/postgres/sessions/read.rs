//! Reading sessions: each in one statement, but for a result, which is in a table of its own.

use idgate_core::session::Session;
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::super::claims::open_padded;
use super::super::super::session_keys;
use super::super::super::types::Caller;
use super::super::claims;
use super::super::error::{Done, Failure};
use super::super::shared::Shared;
use crate::postgres_statements::row;
use crate::prepared_session::{Stored, has_key};
use crate::version_numbers::{Numbers, numbers};
use idgate_base::clock::Moment;

/// A session, its key, and the numbers of what is in force.
macro_rules! key_and_numbers {
    () => {
        concat!("SELECT s.id, s.client_id, s.livemode, s.record, k.sealed, ", numbers!())
    };
}

/// A session, with its key while it is open; and what is in force is known.
pub(super) async fn with_key(shared: &Shared, id: &str) -> Done<Option<Session>> {
    let sql = concat!(
        key_and_numbers!(),
        " FROM sessions AS s \
         JOIN clients AS c ON c.id = s.client_id AND c.revoked_at IS NULL \
         LEFT JOIN session_keys AS k ON k.session_id = s.id WHERE s.id = $1"
    );
    find(shared, sql, id).await
}

/// The session that an offer belongs to, as [`with_key`] reads it.
pub(super) async fn offered(shared: &Shared, id: &str) -> Done<Option<Session>> {
    let sql = concat!(
        key_and_numbers!(),
        " FROM offers AS o JOIN sessions AS s ON s.id = o.session_id \
         JOIN clients AS c ON c.id = s.client_id AND c.revoked_at IS NULL \
         LEFT JOIN session_keys AS k ON k.session_id = s.id WHERE o.id = $1"
    );
    find(shared, sql, id).await
}

async fn find(shared: &Shared, sql: &str, id: &str) -> Done<Option<Session>> {
    let (client, before) = (shared.pool.client().await?, Moment::now());
    let Some(found) = row(&client, sql, &[&id]).await? else { return Ok(None) };
    shared.cache.noted.note(before, Numbers::at(&found, [5, 6, 7])?);
    unlocked(shared, &found).map(Some)
}

/// A caller's session, with its result while it may be read.
pub(super) async fn callers(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Done<Option<Session>> {
    let client = shared.pool.client().await?;
    let found = row(
        &client,
        "SELECT id, client_id, livemode, record, claims_slot FROM sessions \
         WHERE id = $1 AND client_id = $2 AND livemode = $3",
        &[&id, &caller.client_id.as_str(), &caller.livemode],
    )
    .await?;
    drop(client);
    let Some(found) = found else { return Ok(None) };
    with_result(shared, &found, 0, now).await.map(Some)
}

/// From the columns `id`, `client_id`, `livemode`, `record` and `claims_slot`, which begin at `first`; with
/// the result while it may be read.
pub(in crate::postgres) async fn with_result(
    shared: &Shared,
    found: &Row,
    first: usize,
    now: UnixMillis,
) -> Done<Session> {
    let mut session = stored_at(found, first)?.open(&shared.env.sealer)?;
    if session.settled_at().is_some()
        && let Some(slot) = found.try_get::<_, Option<i16>>(first.saturating_add(4))?
        && let Some(result) = claims::read(shared, &session, slot, now).await?
    {
        session.restore_result(result);
    }
    Ok(session)
}

/// Whether the result of a caller's session is gone before its time.
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

/// From the columns `id`, `client_id`, `livemode`, `record` and the sealed key, if there is one.
fn unlocked(shared: &Shared, row: &Row) -> Done<Session> {
    let mut session = stored(row)?.open(&shared.env.sealer)?;
    if !has_key(&session) || session.settled_at().is_some() {
        return Ok(session);
    }
    let Some(sealed) = row.try_get::<_, Option<&[u8]>>(4)? else { return Ok(session) };
    let key = open_padded(&shared.env.sealer, session_keys::place(&session), sealed)?;
    let restored = session.restore_encryption_key(&key);
    restored.map_err(|error| {
        Failure::failed(format!("the key of session {}: {error}", session.id()))
    })?;
    Ok(session)
}

/// From the columns `id`, `client_id`, `livemode` and `record`.
fn stored(row: &Row) -> Done<Stored> {
    stored_at(row, 0)
}

/// From the same columns, which begin at `first`.
fn stored_at(row: &Row, first: usize) -> Done<Stored> {
    let at = |column: usize| first.saturating_add(column);
    Ok(Stored {
        id: row.try_get(at(0))?,
        client_id: row.try_get(at(1))?,
        livemode: row.try_get(at(2))?,
        record: row.try_get(at(3))?,
    })
}
