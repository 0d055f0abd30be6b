//! The keys of clients. Whoever changes a client's keys holds the head of its chain first, so that what
//! a key may do is looked at once all changes before are committed. Times are the callers'.

use std::future::Future;
use std::sync::Arc;

use deadpool_postgres::{Client, GenericClient};
use idgate_core::ids::TenantId;
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::api_keys::{self, power};
use super::super::cursor::List;
use super::super::db::Db;
use super::super::interface::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue,
    NewApiKey, PageError, Read, SessionFound, StoreError, Write,
};
use super::super::lanes::Whose;
use super::super::sql::{millis, time};
use super::audit;
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::sessions::read;
use super::shared::Shared;
use super::sql::{Parameters, execute, row};
use crate::audit::AuditEvent;
use crate::clock::Moment;
use crate::store::numbers::{Numbers, numbers};

const LIST: List = List("cursor api-keys");

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

fn with_exact_use(shared: &Shared, mut key: ApiKeyRecord) -> ApiKeyRecord {
    key.last_used_at = shared.uses.latest(&key.id, key.last_used_at);
    key
}

/// Runs a change that a caller makes at the head of its chain, and records it there.
async fn at_head<T>(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    change: impl Future<Output = Done<(T, Option<AuditEvent>)>>,
) -> Done<T> {
    let client_id = caller.client_id.as_str();
    audit::hold(tx, &shared.audit, client_id).await?;
    let (done, event) = change.await?;
    if let Some(event) = event {
        audit::append(tx, &shared.audit, client_id, event).await?;
    }
    Ok(done)
}

/// The key with this value: what became of a COMMIT that was not answered.
async fn stored(shared: &Shared, id: &str, value: &KeyValue) -> Done<Option<ApiKeyRecord>> {
    api_keys::with_value(&Db::Client(&shared.pool.client().await?), id, value).await
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
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let keys = api_keys::newest(&Db::Client(&client), &caller, now).await?;
            Ok(keys.into_iter().map(|key| with_exact_use(&shared, key)).collect())
        })
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
            let client = shared.pool.client().await?;
            let (keys, last) =
                api_keys::page(&Db::Client(&client), &of_caller, before, limit).await?;
            Ok((keys.into_iter().map(|key| with_exact_use(&shared, key)).collect(), last))
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
                Box::pin(async move {
                    let db = Db::Transaction(tx);
                    let insert = api_keys::insert(&db, caller, key, shared.quotas);
                    at_head(shared, tx, caller, insert).await
                })
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
                Box::pin(async move {
                    let db = Db::Transaction(tx);
                    at_head(shared, tx, caller, api_keys::revoke(&db, caller, id, now)).await
                })
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
                Box::pin(async move {
                    let db = Db::Transaction(tx);
                    at_head(shared, tx, caller, api_keys::rotate(&db, caller, new, now)).await
                })
            });
            match rotated.await {
                Err(Failure::InDoubt(why)) => match stored(&shared, &id, &value).await? {
                    Some(key) => Ok(KeyRotated::Yes(with_exact_use(&shared, key))),
                    None => Err(Failure::InDoubt(why)),
                },
                Ok(KeyRotated::Yes(key)) => Ok(KeyRotated::Yes(with_exact_use(&shared, key))),
                rotated => rotated,
            }
        })
    }

    fn remove_ended_keys(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            api_keys::remove_ended(&Db::Client(&shared.pool.client().await?), before, limit).await
        })
    }
}
