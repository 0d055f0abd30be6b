//! The keys of clients. Whoever changes a client's keys holds the head of its chain first, so that what
//! a key may do is looked at once all changes before are committed. Times are the callers'.

use std::sync::Arc;

use deadpool_postgres::{Client, GenericClient};
use idgate_core::ids::TenantId;
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::api_keys::power::{self, Power};
use super::super::api_keys::{KeyRow, LISTED, insert_row};
use super::super::cursor::List;
use super::super::db::Db;
use super::super::interface::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue,
    NewApiKey, PageError, Read, SessionFound, StoreError, Write,
};
use super::super::lanes::Whose;
use super::super::sql::{millis, number, one_more, page_of, time};
use super::audit;
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::sessions::read;
use super::shared::Shared;
use super::sql::{Parameters, execute, row, rows};
use crate::audit::AuditStatus;
use crate::clock::Moment;
use crate::store::numbers::{Numbers, numbers};

const LIST: List = List("cursor api-keys");

/// The columns of [`record`].
pub(super) const COLUMNS: &str =
    "id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, expires_at, last_used_at";

/// Whoever has a key, and the numbers of what is in force.
macro_rules! key_columns {
    () => {
        concat!("SELECT k.id, k.client_id, k.livemode, k.scopes, k.last_used_at, ", numbers!())
    };
}

/// Key, client, expiry and mode.
macro_rules! good_key {
    () => {
        " WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
         AND (k.expires_at IS NULL OR k.expires_at > $2) AND k.livemode = c.livemode"
    };
}

/// Checks key, client, expiry and mode in one indexed read.
pub(super) async fn authenticate(
    shared: &Shared,
    digest: &[u8; 32],
    now: UnixMillis,
) -> Done<Option<Caller>> {
    let (client, since) = (shared.pool.client().await?, Moment::now());
    let sql = concat!(
        key_columns!(),
        " FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id",
        good_key!()
    );
    let Some(found) = row(&client, sql, &[&&digest[..], &millis(now)]).await? else {
        return Ok(None);
    };
    used(shared, &client, &found, (digest, since, now)).await.map(Some)
}

/// The same with the caller's session of that id, and with its result while it may be read; or why not.
pub(super) async fn authenticate_for(
    shared: &Shared,
    digest: &[u8; 32],
    session: &str,
    now: UnixMillis,
) -> Done<Option<(Caller, SessionFound)>> {
    let (client, since) = (shared.pool.client().await?, Moment::now());
    let sql = concat!(
        key_columns!(),
        ", s.id, s.client_id, s.livemode, s.record, s.claims_slot \
         FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id LEFT JOIN sessions AS s \
         ON s.id = $3 AND s.client_id = k.client_id AND s.livemode = k.livemode",
        good_key!()
    );
    let parameters: Parameters<'_> = &[&&digest[..], &millis(now), &session];
    let Some(found) = row(&client, sql, parameters).await? else { return Ok(None) };
    let caller = used(shared, &client, &found, (digest, since, now)).await?;
    drop(client);
    let session = match found.try_get::<_, Option<&str>>(SESSION)? {
        Some(_) => read::with_result(shared, &found, SESSION, now).await.map(Some),
        None => Ok(None),
    };
    let session = session.map_err(StoreError::from);
    Ok(Some((caller, session)))
}

/// Where the columns of a session begin beside those of a key.
const SESSION: usize = 8;

/// The owner of a key that was found, whose use is noted; and what is in force was, too.
async fn used(
    shared: &Shared,
    client: &Client,
    found: &Row,
    (digest, since, now): (&[u8; 32], Moment, UnixMillis),
) -> Done<Caller> {
    let key_id: String = found.try_get(0)?;
    let caller = Caller {
        digest: *digest,
        client_id: TenantId::new(found.try_get::<_, String>(1)?),
        livemode: found.try_get(2)?,
        scopes: power::scopes(&key_id, found.try_get(3)?)?,
        key_id,
        since,
    };
    shared.held.noted.note(since, Numbers::at(found, [5, 6, 7])?);
    let last_used = found.try_get::<_, Option<i64>>(4)?.map(time);
    let due = shared.uses.note(&caller.key_id, last_used, now);
    if !due.is_empty() {
        touch(client, &due).await?;
    }
    Ok(caller)
}

/// Stores the uses of keys.
pub(super) async fn store_uses(shared: &Shared, uses: Vec<(String, UnixMillis)>) -> Done<()> {
    if uses.is_empty() {
        return Ok(());
    }
    touch(&shared.pool.client().await?, &uses).await
}

/// Notes uses of keys; they never move backwards.
async fn touch(on: &impl GenericClient, uses: &[(String, UnixMillis)]) -> Done<()> {
    let ids: Vec<&str> = uses.iter().map(|(id, _)| &**id).collect();
    let times: Vec<i64> = uses.iter().map(|(_, at)| millis(*at)).collect();
    execute(
        on,
        "UPDATE api_keys AS k SET last_used_at = u.at \
         FROM unnest($1::text[], $2::bigint[]) AS u (id, at) \
         WHERE k.id = u.id AND (last_used_at IS NULL OR last_used_at < u.at)",
        &[&ids, &times],
    )
    .await?;
    Ok(())
}

/// Until when the key is good that opened a request, in the transaction of what was asked for. `None`:
/// since then it was rotated or revoked or it expired, or its client was revoked.
pub(super) async fn in_force(
    tx: &Tx<'_>,
    caller: &Caller,
    now: UnixMillis,
) -> Done<Option<Option<UnixMillis>>> {
    let found = row(
        tx,
        "SELECT k.expires_at FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
         WHERE k.id = $1 AND k.digest = $2 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
         AND (k.expires_at IS NULL OR k.expires_at > $3)",
        &[&caller.key_id, &&caller.digest[..], &millis(now)],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    Ok(Some(found.try_get::<_, Option<i64>>(0)?.map(time)))
}

/// A row of [`COLUMNS`].
pub(super) fn record(row: &Row) -> Done<ApiKeyRecord> {
    let id: String = row.try_get(0)?;
    Ok(ApiKeyRecord {
        name: row.try_get(1)?,
        scopes: power::scopes(&id, row.try_get(2)?)?,
        revoked: row.try_get(3)?,
        livemode: row.try_get(4)?,
        created_at: time(row.try_get(5)?),
        expires_at: row.try_get::<_, Option<i64>>(6)?.map(time),
        last_used_at: row.try_get::<_, Option<i64>>(7)?.map(time),
        id,
    })
}

/// The keys that live, then the newest of the others.
async fn newest(shared: &Shared, caller: &Caller, now: UnixMillis) -> Done<Vec<ApiKeyRecord>> {
    let client = shared.pool.client().await?;
    let sql = format!(
        "WITH live AS (SELECT *, true AS lives FROM api_keys WHERE client_id = $1 AND livemode = $2 \
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)), \
         ended AS (SELECT *, false AS lives FROM api_keys WHERE client_id = $1 AND livemode = $2 \
             AND (revoked_at IS NOT NULL OR expires_at <= $3) ORDER BY seq DESC \
             LIMIT greatest($4 - (SELECT count(*) FROM live), 0)) \
         SELECT {COLUMNS} FROM (SELECT * FROM live UNION ALL SELECT * FROM ended) AS listed \
         ORDER BY lives DESC, seq DESC"
    );
    let whose = caller.client_id.as_str();
    let of_caller = (whose, caller.livemode, millis(now), number(LISTED));
    let found =
        rows(&client, &sql, &[&of_caller.0, &of_caller.1, &of_caller.2, &of_caller.3]).await?;
    found.iter().map(|row| with_exact_use(shared, record(row)?)).collect()
}

/// At most `limit` keys made before the one at `before`, and the position of the last if there are
/// more.
async fn page(
    shared: &Shared,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Done<(Vec<ApiKeyRecord>, Option<i64>)> {
    let client = shared.pool.client().await?;
    let sql = format!(
        "SELECT {COLUMNS}, seq FROM api_keys WHERE client_id = $1 AND livemode = $2 \
         AND seq < $3 ORDER BY seq DESC LIMIT $4"
    );
    let (whose, limit_and_one) = (caller.client_id.as_str(), one_more(limit));
    let found = rows(&client, &sql, &[&whose, &caller.livemode, &before, &limit_and_one]).await?;
    let keys = found
        .iter()
        .map(|row| Ok((with_exact_use(shared, record(row)?)?, row.try_get(8)?)))
        .collect::<Done<Vec<_>>>()?;
    Ok(page_of(keys, limit))
}

fn with_exact_use(shared: &Shared, mut key: ApiKeyRecord) -> Done<ApiKeyRecord> {
    key.last_used_at = shared.uses.latest(&key.id, key.last_used_at);
    Ok(key)
}

async fn insert(shared: &Shared, tx: &Tx<'_>, caller: &Caller, key: &NewApiKey) -> Done<KeyMade> {
    let (record, client_id) = (&key.record, caller.client_id.as_str());
    audit::hold(tx, &shared.audit, client_id).await?;
    let Some(expires_at) = in_force(tx, caller, record.created_at).await? else {
        return Ok(KeyMade::CallerGone);
    };
    if !Power::of(caller, expires_at).lasts(record.expires_at) {
        return Ok(KeyMade::OutlivesCaller);
    }
    if !leaves_a_key(shared, tx, client_id, record.created_at).await? {
        return Ok(KeyMade::TooMany);
    }
    let row = KeyRow { client_id, record, value: &key.value };
    insert_row(&Db::Transaction(tx), &row).await?;
    audit::append(tx, &shared.audit, client_id, power::created(caller, record)).await?;
    Ok(KeyMade::Yes)
}

/// Whether the client may have one more key.
async fn leaves_a_key(
    shared: &Shared,
    tx: &Tx<'_>,
    client_id: &str,
    now: UnixMillis,
) -> Done<bool> {
    let found = row(
        tx,
        "SELECT count(*) < coalesce((SELECT max_keys FROM clients WHERE id = $1), $3) \
         FROM api_keys WHERE client_id = $1 AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > $2)",
        &[&client_id, &millis(now), &number(shared.quotas.keys)],
    )
    .await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
}

async fn revoke(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Done<KeyRevoked> {
    let client_id = caller.client_id.as_str();
    audit::hold(tx, &shared.audit, client_id).await?;
    if in_force(tx, caller, now).await?.is_none() {
        return Ok(KeyRevoked::CallerGone);
    }
    let found = row(
        tx,
        "SELECT revoked_at IS NOT NULL FROM api_keys \
         WHERE id = $1 AND client_id = $2 AND livemode = $3",
        &[&id, &client_id, &caller.livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(KeyRevoked::NotFound) };
    if !found.try_get::<_, bool>(0)? {
        let sql = "UPDATE api_keys SET revoked_at = $2 WHERE id = $1";
        execute(tx, sql, &[&id, &millis(now)]).await?;
        let event = power::changed(caller, AuditStatus::ApiKeyRevoked, id, now);
        audit::append(tx, &shared.audit, client_id, event).await?;
    }
    Ok(KeyRevoked::Yes)
}

async fn rotate(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    (id, value): (&str, &KeyValue),
    now: UnixMillis,
) -> Done<KeyRotated> {
    let client_id = caller.client_id.as_str();
    audit::hold(tx, &shared.audit, client_id).await?;
    let Some(expires_at) = in_force(tx, caller, now).await? else {
        return Ok(KeyRotated::CallerGone);
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM api_keys WHERE id = $1 AND client_id = $2 AND livemode = $3 \
         AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)"
    );
    let found = row(tx, &sql, &[&id, &client_id, &caller.livemode, &millis(now)]).await?;
    let Some(key) = found.map(|row| record(&row)).transpose()? else {
        return Ok(KeyRotated::NotFound);
    };
    if let Some(refused) = Power::of(caller, expires_at).refuses_to_rotate(caller, &key) {
        return Ok(refused);
    }
    let sql = "UPDATE api_keys SET digest = $2, hint = $3 WHERE id = $1";
    execute(tx, sql, &[&id, &&value.digest[..], &value.hint]).await?;
    let event = power::changed(caller, AuditStatus::ApiKeyRotated, id, now);
    audit::append(tx, &shared.audit, client_id, event).await?;
    Ok(KeyRotated::Yes(with_exact_use(shared, key)?))
}

/// The key with this value, once whoever is at it is done: what became of a COMMIT that was not
/// answered.
async fn stored(shared: &Shared, id: &str, value: &KeyValue) -> Done<Option<ApiKeyRecord>> {
    let client = shared.pool.client().await?;
    let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = $1 AND digest = $2 FOR UPDATE");
    let found = row(&client, &sql, &[&id, &&value.digest[..]]).await?;
    found.map(|row| record(&row)).transpose()
}

async fn is_revoked(shared: &Shared, id: &str) -> Done<bool> {
    let client = shared.pool.client().await?;
    let sql = "SELECT revoked_at IS NOT NULL FROM api_keys WHERE id = $1 FOR UPDATE";
    let found = row(&client, sql, &[&id]).await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
}

impl ApiKeyStore for PostgresStore {
    fn api_keys(&self, caller: &Caller, now: UnixMillis) -> Read<'_, Vec<ApiKeyRecord>> {
        let caller = caller.clone();
        self.read(move |shared| async move { newest(&shared, &caller, now).await })
    }

    fn api_key_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, ApiKeyPage, PageError> {
        let of_caller = caller.clone();
        let read = move |shared: Arc<Shared>, before| async move {
            page(&shared, &of_caller, before, limit).await
        };
        let page = self.page(LIST, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (keys, next_cursor) = page.await?;
            Ok(ApiKeyPage { keys, next_cursor })
        })
    }

    fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, KeyMade> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        self.write(whose, move |shared| async move {
            let with = (&*shared, &caller, &key);
            let made = shared.pool.transact(&with, |&(shared, caller, key), tx| {
                Box::pin(insert(shared, tx, caller, key))
            });
            match made.await {
                Err(Failure::InDoubt(why)) => {
                    match stored(&shared, &key.record.id, &key.value).await? {
                        Some(_) => Ok(KeyMade::Yes),
                        None => Err(Failure::InDoubt(why)),
                    }
                }
                made => made,
            }
        })
    }

    fn revoke_api_key(&self, caller: &Caller, id: &str, now: UnixMillis) -> Write<'_, KeyRevoked> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        self.write(whose, move |shared| async move {
            let with = (&*shared, &caller, &*id);
            let revoked = shared.pool.transact(&with, move |&(shared, caller, id), tx| {
                Box::pin(revoke(shared, tx, caller, id, now))
            });
            match revoked.await {
                Err(Failure::InDoubt(_)) if is_revoked(&shared, &id).await? => Ok(KeyRevoked::Yes),
                revoked => revoked,
            }
        })
    }

    fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
        value: KeyValue,
        now: UnixMillis,
    ) -> Write<'_, KeyRotated> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        self.write(whose, move |shared| async move {
            let with = (&*shared, &caller, (&*id, &value));
            let rotated = shared.pool.transact(&with, move |&(shared, caller, new), tx| {
                Box::pin(rotate(shared, tx, caller, new, now))
            });
            match rotated.await {
                Err(Failure::InDoubt(why)) => match stored(&shared, &id, &value).await? {
                    Some(key) => Ok(KeyRotated::Yes(with_exact_use(&shared, key)?)),
                    None => Err(Failure::InDoubt(why)),
                },
                rotated => rotated,
            }
        })
    }

    fn remove_ended_keys(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let client = shared.pool.client().await?;
            let removed = execute(
                &client,
                "DELETE FROM api_keys WHERE seq IN (SELECT seq FROM api_keys \
                 WHERE (revoked_at IS NOT NULL OR expires_at IS NOT NULL) \
                 AND coalesce(revoked_at, expires_at) <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
                &[&millis(before), &number(limit)],
            )
            .await?;
            Ok(usize::try_from(removed).unwrap_or(usize::MAX))
        })
    }
}
