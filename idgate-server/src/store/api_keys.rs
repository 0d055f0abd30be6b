//! Keys as rows. The order of a list is that in which they were made.

mod change;
pub(super) mod power;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;
use serde_json::json;

pub(super) use self::change::{KeyRow, insert, revoke, rotate};
use super::db::{Db, Row, sql};
use super::failure::Done;
use super::interface::{ApiKeyRecord, Caller, StoreError};
use super::sql::{millis, number, one_more, page_of, time};

/// What a list in one piece has at most, unless more keys live.
pub(super) const LISTED: usize = 200;

pub(super) const COLUMNS: &str =
    "id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, expires_at, last_used_at";

/// The keys that live, then the newest of the others.
pub(super) fn newest(
    main: &Connection,
    caller: &Caller,
    now: UnixMillis,
) -> Result<Vec<ApiKeyRecord>, StoreError> {
    // One moment for both, and a short one.
    let moment = main.unchecked_transaction()?;
    let mut keys = living(&moment, caller.client_id.as_str(), now)?;
    keys.retain(|key| key.livemode == caller.livemode);
    let room = number(LISTED.saturating_sub(keys.len()));
    let mut statement = moment.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM api_keys WHERE client_id = ?1 AND livemode = ?2 \
         AND (revoked_at IS NOT NULL OR expires_at <= ?3) ORDER BY rowid DESC LIMIT ?4"
    ))?;
    let of_caller = (caller.client_id.as_str(), caller.livemode, millis(now), room);
    let rows = statement.query_map(of_caller, |row| Ok(record(row)))?;
    for row in rows {
        keys.push(row??);
    }
    Ok(keys)
}

fn living(
    main: &Connection,
    client_id: &str,
    now: UnixMillis,
) -> Result<Vec<ApiKeyRecord>, StoreError> {
    let mut statement = main.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM api_keys WHERE client_id = ?1 AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > ?2) ORDER BY rowid DESC"
    ))?;
    let rows = statement.query_map((client_id, millis(now)), |row| Ok(record(row)))?;
    rows.map(|row| row?).collect()
}

/// At most `limit` keys made before the one at `before`, and the position of the last if there are
/// more.
pub(super) fn page(
    main: &Connection,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Result<(Vec<ApiKeyRecord>, Option<i64>), StoreError> {
    let mut statement = main.prepare_cached(&format!(
        "SELECT {COLUMNS}, rowid FROM api_keys WHERE client_id = ?1 AND livemode = ?2 \
         AND rowid < ?3 ORDER BY rowid DESC LIMIT ?4"
    ))?;
    let of_caller = (caller.client_id.as_str(), caller.livemode, before, one_more(limit));
    let rows = statement.query_map(of_caller, |row| Ok((record(row), row.get(8)?)))?;
    let rows = rows.map(|row| row.map_err(StoreError::from).and_then(|(key, at)| Ok((key?, at))));
    Ok(page_of(rows.collect::<Result<_, _>>()?, limit))
}

/// All keys of a client, as the operator sees them; `None`: there is no such client.
pub(super) async fn of_client(db: &Db<'_>, client_id: &str) -> Done<Option<Vec<ApiKeyRecord>>> {
    let client = sql("SELECT id FROM clients WHERE id = $1");
    if db.one(client, &[&client_id], |row| row.get::<String>(0)).await?.is_none() {
        return Ok(None);
    }
    let keys = sql("SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, \
                    expires_at, last_used_at FROM api_keys WHERE client_id = $1 \
                    ORDER BY {seq} DESC");
    db.all(keys, &[&client_id], read).await.map(Some)
}

/// Stores a key, whoever asks for it.
pub(super) async fn insert_row(db: &Db<'_>, key: &KeyRow<'_>) -> Done<()> {
    let KeyRow { client_id, record, value } = key;
    let sql = sql("INSERT INTO api_keys (id, client_id, digest, hint, name, scopes, livemode, \
                   created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    let scopes = record.scopes.as_ref().map(|scopes| json!(scopes).to_string());
    let (created_at, expires_at) = (millis(record.created_at), record.expires_at.map(millis));
    db.run(
        sql,
        &[
            &record.id,
            client_id,
            &value.digest.as_slice(),
            &value.hint,
            &record.name,
            &scopes,
            &record.livemode,
            &created_at,
            &expires_at,
        ],
    )
    .await
    .map(drop)
}

/// Removes keys that ended long ago.
pub(super) fn remove_ended(
    main: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "DELETE FROM api_keys WHERE rowid IN (SELECT rowid FROM api_keys \
             WHERE (revoked_at IS NOT NULL OR expires_at IS NOT NULL) \
             AND coalesce(revoked_at, expires_at) <= ?1 LIMIT ?2)",
        )?
        .execute((millis(before), number(limit)))?)
}

fn read(row: &Row<'_>) -> Done<ApiKeyRecord> {
    let id: String = row.get(0)?;
    Ok(ApiKeyRecord {
        name: row.get(1)?,
        scopes: power::scopes(&id, row.get(2)?)?,
        revoked: row.get(3)?,
        livemode: row.get(4)?,
        created_at: row.time(5)?,
        expires_at: row.time_if_any(6)?,
        last_used_at: row.time_if_any(7)?,
        id,
    })
}

/// A row of [`COLUMNS`].
pub(super) fn record(row: &rusqlite::Row<'_>) -> Result<ApiKeyRecord, StoreError> {
    let id: String = row.get(0)?;
    Ok(ApiKeyRecord {
        name: row.get(1)?,
        scopes: power::scopes(&id, row.get(2)?)?,
        revoked: row.get(3)?,
        livemode: row.get(4)?,
        created_at: time(row.get(5)?),
        expires_at: row.get::<_, Option<i64>>(6)?.map(time),
        last_used_at: row.get::<_, Option<i64>>(7)?.map(time),
        id,
    })
}
