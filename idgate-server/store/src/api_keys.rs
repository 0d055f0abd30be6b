//! API keys as rows. Lists are in the order of creation.

mod change;
pub(super) mod power;

use idgate_core::UnixMillis;
use serde_json::json;

pub(super) use self::change::{insert, revoke, rotate};
use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::{millis, number, one_more, page_of};
use super::types::{ApiKeyRecord, Caller, KeyValue};

/// The length of an unpaged list, unless more keys than that are active.
const LISTED: usize = 200;

/// The active keys, then the newest of the others.
pub(super) async fn newest(
    db: &Db<'_>,
    caller: &Caller,
    now: UnixMillis,
) -> Done<Vec<ApiKeyRecord>> {
    let sql = sql(
        "WITH live AS (SELECT id, name, scopes, revoked_at, livemode, created_at, expires_at, \
             last_used_at, {seq|rowid} AS made, 1 AS lives FROM api_keys \
             WHERE client_id = $1 AND livemode = $2 AND revoked_at IS NULL \
             AND (expires_at IS NULL OR expires_at > $3)), \
         ended AS (SELECT id, name, scopes, revoked_at, livemode, created_at, expires_at, \
             last_used_at, {seq|rowid} AS made, 0 AS lives FROM api_keys \
             WHERE client_id = $1 AND livemode = $2 \
             AND (revoked_at IS NOT NULL OR expires_at <= $3) ORDER BY {seq|rowid} DESC \
             LIMIT CASE WHEN (SELECT count(*) FROM live) < CAST($4 AS bigint) \
             THEN CAST($4 AS bigint) - (SELECT count(*) FROM live) ELSE 0 END) \
         SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, expires_at, \
         last_used_at FROM (SELECT * FROM live UNION ALL SELECT * FROM ended) AS listed \
         ORDER BY lives DESC, made DESC",
    );
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    db.all(sql, &[&client_id, &livemode, &millis(now), &number(LISTED)], read).await
}

/// At most `limit` keys created before the one at `before`, and the position of the last one if
/// there are more.
pub(super) async fn page(
    db: &Db<'_>,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Done<(Vec<ApiKeyRecord>, Option<i64>)> {
    let sql = sql("SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, \
                   expires_at, last_used_at, {seq|rowid} FROM api_keys \
                   WHERE client_id = $1 AND livemode = $2 AND {seq|rowid} < $3 \
                   ORDER BY {seq|rowid} DESC LIMIT $4");
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    let keys = db
        .all(sql, &[&client_id, &livemode, &before, &one_more(limit)], |row| {
            Ok((read(row)?, row.get(8)?))
        })
        .await?;
    Ok(page_of(keys, limit))
}

/// All keys of a client, as the operator sees them. `None`: the client does not exist.
pub(super) async fn of_client(db: &Db<'_>, client_id: &str) -> Done<Option<Vec<ApiKeyRecord>>> {
    let client = sql("SELECT id FROM clients WHERE id = $1");
    if db.one(client, &[&client_id], |row| row.get::<String>(0)).await?.is_none() {
        return Ok(None);
    }
    let keys = sql("SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, \
                    expires_at, last_used_at FROM api_keys WHERE client_id = $1 \
                    ORDER BY {seq|rowid} DESC");
    db.all(keys, &[&client_id], read).await.map(Some)
}

/// The key with this value. Waits for any transaction that is changing it.
pub(super) async fn with_value(
    db: &Db<'_>,
    id: &str,
    value: &KeyValue,
) -> Done<Option<ApiKeyRecord>> {
    let sql = sql("SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, \
                   expires_at, last_used_at FROM api_keys WHERE id = $1 AND digest = $2 \
                   {FOR UPDATE}");
    db.one(sql, &[&id, &value.digest.as_slice()], read).await
}

/// Whether a key is revoked. Waits for any transaction that is changing it.
pub(super) async fn is_revoked(db: &Db<'_>, id: &str) -> Done<bool> {
    let sql = sql("SELECT revoked_at IS NOT NULL FROM api_keys WHERE id = $1 {FOR UPDATE}");
    Ok(db.one(sql, &[&id], |row| row.get(0)).await?.unwrap_or(false))
}

/// A key and its client.
pub(super) struct KeyRow<'a> {
    pub(super) client_id: &'a str,
    pub(super) record: &'a ApiKeyRecord,
    pub(super) value: &'a KeyValue,
}

/// Stores a key.
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

/// Removes keys that were revoked or expired before `before`.
pub(super) async fn remove_ended(db: &Db<'_>, before: UnixMillis, limit: usize) -> Done<usize> {
    let sql = sql("DELETE FROM api_keys WHERE {seq|rowid} IN (SELECT {seq|rowid} FROM api_keys \
                   WHERE (revoked_at IS NOT NULL OR expires_at IS NOT NULL) \
                   AND coalesce(revoked_at, expires_at) <= $1 LIMIT $2 {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(before), &number(limit)]).await
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
