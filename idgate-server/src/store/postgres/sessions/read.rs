//! Reading sessions: each in one statement, but for a result, which is in a table of its own.

use idgate_core::session::Session;
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::super::claims::open_padded;
use super::super::super::interface::{Caller, StoreError};
use super::super::super::prepared::{Stored, has_key};
use super::super::super::session_keys;
use super::super::super::sql::{millis, number};
use super::super::error::{Done, Failure};
use super::super::shared::Shared;
use super::super::sql::{row, rows};
use super::super::{claims, nodes};
use crate::clock::Moment;
use crate::spans::Parent;
use crate::store::numbers::{Numbers, numbers};

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
    shared.held.noted.note(before, Numbers::at(&found, [5, 6, 7])?);
    unlocked(shared, &found).map(Some)
}

/// The span that made a session.
pub(super) async fn parent_span(shared: &Shared, id: &str) -> Done<Option<Parent>> {
    let client = shared.pool.client().await?;
    let found = row(&client, "SELECT parent_span FROM sessions WHERE id = $1", &[&id]).await?;
    let Some(found) = found else { return Ok(None) };
    Ok(found.try_get::<_, Option<&str>>(0)?.and_then(Parent::parse))
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
pub(in crate::store::postgres) async fn with_result(
    shared: &Shared,
    found: &Row,
    first: usize,
    now: UnixMillis,
) -> Done<Session> {
    let mut session = stored_at(found, first)?.open(&shared.sealer)?;
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

pub(super) async fn due(
    shared: &Shared,
    now: UnixMillis,
    limit: usize,
) -> Done<Vec<Result<Session, StoreError>>> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "SELECT id, client_id, livemode, record FROM sessions WHERE settled_at IS NULL \
         AND coalesce(lease_until, expires_at) <= $1 \
         ORDER BY coalesce(lease_until, expires_at) LIMIT $2",
        &[&millis(now), &number(limit)],
    )
    .await?;
    each(shared, &found)
}

/// Open sessions of revoked clients, once every node knows how they end.
pub(super) async fn of_revoked(
    shared: &Shared,
    limit: usize,
) -> Done<Vec<Result<Session, StoreError>>> {
    let client = shared.pool.client().await?;
    // Such clients are few: only where there are any, the open sessions are looked through.
    let found = rows(
        &client,
        "SELECT id, client_id, livemode, record FROM sessions \
         WHERE settled_at IS NULL AND client_id IN ( \
             SELECT c.id FROM clients AS c JOIN open_sessions AS o ON o.client_id = c.id \
             WHERE c.revoked_at IS NOT NULL AND o.count > 0) \
         AND NOT EXISTS (SELECT FROM nodes WHERE beat_at > clock_ms() - $2 \
             AND coalesce(nullif(split_part(version, ' ', 3), '')::bigint, 0) < $3) LIMIT $1",
        &[&number(limit), &nodes::GONE_MS, &nodes::REASONS],
    )
    .await?;
    each(shared, &found)
}

/// Sessions that a node is verifying that is gone.
pub(super) async fn abandoned(shared: &Shared) -> Done<Vec<Result<Session, StoreError>>> {
    let client = shared.pool.client().await?;
    let found = rows(
        &client,
        "SELECT id, client_id, livemode, record FROM sessions AS s \
         WHERE settled_at IS NULL AND lease_until IS NOT NULL AND NOT EXISTS ( \
             SELECT FROM nodes WHERE nodes.id = s.node_id AND beat_at > clock_ms() - $1)",
        &[&nodes::GONE_MS],
    )
    .await?;
    each(shared, &found)
}

fn each(shared: &Shared, found: &[Row]) -> Done<Vec<Result<Session, StoreError>>> {
    found.iter().map(|row| Ok(stored(row)?.open(&shared.sealer))).collect()
}

/// From the columns `id`, `client_id`, `livemode`, `record` and the sealed key, if there is one.
fn unlocked(shared: &Shared, row: &Row) -> Done<Session> {
    let mut session = stored(row)?.open(&shared.sealer)?;
    if !has_key(&session) || session.settled_at().is_some() {
        return Ok(session);
    }
    let Some(sealed) = row.try_get::<_, Option<&[u8]>>(4)? else { return Ok(session) };
    let key = open_padded(&shared.sealer, session_keys::place(&session), sealed)?;
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
