//! The owner of an API key, read with the numbers of trust, keys and certificates in force.

use deadpool_postgres::{Client, GenericClient};
use idgate_core::ids::{SessionId, TenantId};
use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::error::Done;
use super::gateway::PostgresStore;
use super::sessions::read;
use super::shared::Shared;
use crate::api_keys::power;
use crate::postgres_statements::{Parameters, execute, row};
use crate::sql::{millis, time};
use crate::types::{Caller, Read, SessionFound, StoreError};
use crate::version_numbers::{Numbers, numbers};
use idgate_base::clock::Moment;

/// The owner of a key, and the numbers of trust, keys and certificates in force.
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
async fn authenticate(shared: &Shared, digest: &[u8; 32], now: UnixMillis) -> Done<Option<Caller>> {
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
async fn authenticate_for(
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

/// The first column of the session, behind those of the key.
const SESSION: usize = 8;

/// The owner of a key that was found. Notes the use of the key, and the numbers of trust, keys and certificates.
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
    shared.cache.noted.note(since, Numbers::at(found, [5, 6, 7])?);
    let last_used = found.try_get::<_, Option<i64>>(4)?.map(time);
    let due = shared.env.uses.note(&caller.key_id, last_used, now);
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

impl PostgresStore {
    pub(crate) fn authenticate(
        &self,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Caller>> {
        let digest = *digest;
        self.run_read(move |shared| async move { authenticate(&shared, &digest, now).await })
    }

    pub(crate) fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (digest, session) = (*digest, session.as_str().to_owned());
        self.run_read(move |shared| async move {
            authenticate_for(&shared, &digest, &session, now).await
        })
    }
}
