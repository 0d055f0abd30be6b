//! What the operator does with one client: its keys, its quotas, how it is shown to people, and the
//! origins that its own pages have.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::api_keys::{COLUMNS, insert_row, record as key_record};
use super::super::error::Done;
use super::super::pool::Tx;
use super::super::sql::{execute, row, rows};
use super::super::{audit, certificates, origins};
use super::{Desk, PostgresOperator, record_if_possible};
use crate::api_key::ApiKey;
use crate::audit::{AuditEvent, AuditStatus, OPERATOR};
use crate::store::fresh;
use crate::store::interface::{ApiKeyRecord, KeyValue, StoreError};
use crate::store::keys::{ClientRecord, NewClient};
use crate::store::operator::{ClientChange, ClientOperator, ClientSettings};
use crate::store::quotas::OwnQuotas;
use crate::store::sql::{millis, number, time, unsigned};

impl ClientOperator for PostgresOperator {
    fn create_client(
        &mut self,
        name: &str,
        livemode: bool,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<NewClient, StoreError> {
        let (client, sealed) = fresh::client(livemode, &self.desk.sealer)?;
        let value = KeyValue::of(&client.api_key);
        let key = first_key(&client, scopes, now);
        let env = (&self.desk, &client.client_id, name, sealed, key, value);
        self.run(self.desk.pool.transact(&env, |(desk, id, name, sealed, key, value), tx| {
            Box::pin(async move {
                execute(
                    tx,
                    "INSERT INTO clients (id, name, livemode, signing_secret, created_at) \
                     VALUES ($1, $2, $3, $4, $5)",
                    &[id, name, &key.livemode, sealed, &millis(key.created_at)],
                )
                .await?;
                insert_row(tx, id, key, value).await?;
                let scopes = key.scopes.as_deref();
                record_key_created(tx, desk, id, (&key.id, scopes), key.created_at).await
            })
        }))?;
        Ok(client)
    }

    fn clients(&self) -> Result<Vec<ClientRecord>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT id, name, livemode, created_at, revoked_at, \
                       (SELECT count(*) FROM api_keys WHERE client_id = clients.id \
                       AND api_keys.revoked_at IS NULL) \
                       FROM clients ORDER BY created_at DESC, seq DESC";
            rows(&client, sql, &[]).await?.iter().map(client_record).collect()
        })
    }

    fn revoke_client(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let revoked = self.run(self.desk.pool.transact(&(&self.desk, id, now), |env, tx| {
            Box::pin(revoke_client(tx, env.0, env.1, env.2))
        }))?;
        let Some(recorded) = revoked else { return Ok(false) };
        recorded.map_err(|why| {
            StoreError::Failed(format!("every key of {id} is stopped, but {why}"))
        })?;
        Ok(true)
    }

    fn create_key(
        &mut self,
        client_id: &str,
        name: Option<&str>,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<Option<(ApiKeyRecord, ApiKey)>, StoreError> {
        let env = (&self.desk, client_id, name, scopes, now);
        self.run(self.desk.pool.transact(&env, |&(desk, client_id, name, scopes, now), tx| {
            Box::pin(async move {
                audit::hold(tx, &desk.audit, client_id).await?;
                let sql = "SELECT livemode FROM clients WHERE id = $1 AND revoked_at IS NULL \
                           FOR SHARE";
                let Some(found) = row(tx, sql, &[&client_id]).await? else { return Ok(None) };
                let (record, key) = fresh::api_key(found.try_get(0)?, name, scopes, now)?;
                insert_row(tx, client_id, &record, &KeyValue::of(&key)).await?;
                record_key_created(tx, desk, client_id, (&record.id, scopes), now).await?;
                Ok(Some((record, key)))
            })
        }))
    }

    fn client_keys(&self, client_id: &str) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let exists = "SELECT 1 FROM clients WHERE id = $1";
            if row(&client, exists, &[&client_id]).await?.is_none() {
                return Ok(None);
            }
            let sql =
                format!("SELECT {COLUMNS} FROM api_keys WHERE client_id = $1 ORDER BY seq DESC");
            let found = rows(&client, &sql, &[&client_id]).await?;
            found.iter().map(key_record).collect::<Done<_>>().map(Some)
        })
    }

    fn revoke_key(
        &mut self,
        client_id: Option<&str>,
        id: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let env = (&self.desk, client_id, id, now);
        let revoked = self.run(
            self.desk
                .pool
                .transact(&env, |env, tx| Box::pin(revoke_key(tx, env.0, env.1, env.2, env.3))),
        )?;
        let Some(recorded) = revoked else { return Ok(false) };
        recorded.map_err(|why| StoreError::Failed(format!("{id} is stopped, but {why}")))?;
        Ok(true)
    }

    fn set_client(&mut self, id: &str, change: &ClientChange) -> Result<bool, StoreError> {
        let found = self.run(async {
            execute(
                &self.desk.pool.client().await?,
                "UPDATE clients SET name = coalesce($2, name), logo = coalesce($3, logo), \
                 logo_type = coalesce($4, logo_type), \
                 max_keys = CASE WHEN $5 THEN $6 ELSE max_keys END, \
                 max_open_sessions = CASE WHEN $7 THEN $8 ELSE max_open_sessions END \
                 WHERE id = $1",
                &[
                    &id,
                    &change.name,
                    &change.logo.as_ref().map(|logo| &logo.bytes),
                    &change.logo.as_ref().map(|logo| logo.media_type),
                    &change.max_keys.is_some(),
                    &change.max_keys.flatten().map(number),
                    &change.max_open_sessions.is_some(),
                    &change.max_open_sessions.flatten().map(number),
                ],
            )
            .await
        })?;
        Ok(found > 0)
    }

    fn client_settings(&self, id: &str) -> Result<Option<ClientSettings>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT name, logo_type, max_keys, max_open_sessions FROM clients \
                       WHERE id = $1";
            let Some(found) = row(&client, sql, &[&id]).await? else { return Ok(None) };
            Ok(Some(ClientSettings {
                name: found.try_get(0)?,
                logo_type: found.try_get(1)?,
                quotas: OwnQuotas {
                    keys: found.try_get::<_, Option<i64>>(2)?.map(unsigned),
                    open_sessions: found.try_get::<_, Option<i64>>(3)?.map(unsigned),
                },
                origins: origins::of_client(&client, id).await?,
            }))
        })
    }

    fn add_origin(
        &mut self,
        client_id: &str,
        origin: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let added = self.run(async {
            execute(
                &self.desk.pool.client().await?,
                "INSERT INTO client_origins (client_id, origin, added_at) VALUES ($1, $2, $3) \
                 ON CONFLICT DO NOTHING",
                &[&client_id, &origin, &millis(now)],
            )
            .await
        })?;
        Ok(added > 0)
    }

    fn remove_origin(&mut self, client_id: &str, origin: &str) -> Result<bool, StoreError> {
        let removed = self.run(async {
            execute(
                &self.desk.pool.client().await?,
                "DELETE FROM client_origins WHERE client_id = $1 AND origin = $2",
                &[&client_id, &origin],
            )
            .await
        })?;
        Ok(removed > 0)
    }
}

/// The key that a client is made with, as it is stored.
fn first_key(client: &NewClient, scopes: Option<&[String]>, now: UnixMillis) -> ApiKeyRecord {
    ApiKeyRecord {
        id: client.key_id.clone(),
        name: None,
        scopes: scopes.map(<[String]>::to_vec),
        revoked: false,
        livemode: client.livemode,
        created_at: now,
        expires_at: None,
        last_used_at: None,
    }
}

async fn record_key_created(
    tx: &Tx<'_>,
    desk: &Desk,
    client_id: &str,
    (key_id, scopes): (&str, Option<&[String]>),
    now: UnixMillis,
) -> Done<()> {
    let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, now)
        .about_key(key_id)
        .with_scopes(scopes)
        .by(OPERATOR);
    audit::append(tx, &desk.audit, client_id, event).await
}

/// `None`: there is no such client. Else whether it could be recorded.
async fn revoke_client(
    tx: &Tx<'_>,
    desk: &Desk,
    id: &str,
    now: UnixMillis,
) -> Done<Option<Result<(), String>>> {
    wait_for_chain(tx, id).await?;
    // Who is just making a session keeps the client from being removed, and waits for the chain.
    let sql = "SELECT revoked_at IS NULL FROM clients WHERE id = $1 FOR NO KEY UPDATE";
    let Some(found) = row(tx, sql, &[&id]).await? else { return Ok(None) };
    let sql = "UPDATE clients SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
    execute(tx, sql, &[&id, &millis(now)]).await?;
    let sql = "UPDATE api_keys SET revoked_at = $2 WHERE client_id = $1 AND revoked_at IS NULL \
               RETURNING id";
    let mut events = Vec::new();
    for key in rows(tx, sql, &[&id, &millis(now)]).await? {
        let event = AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now);
        events.push(event.about_key(key.try_get(0)?).by(OPERATOR));
    }
    certificates::end(tx, id, now).await?;
    if found.try_get(0)? {
        let sql = "SELECT count FROM open_sessions WHERE client_id = $1";
        let open = row(tx, sql, &[&id]).await?;
        let open: i64 = open.map_or(Ok(0), |open| open.try_get(0))?;
        let event = AuditEvent::of_client(AuditStatus::ClientRevoked, now).by(OPERATOR);
        events.push(event.with_open_sessions(unsigned(open)));
    }
    record_if_possible(tx, &desk.audit, id, events).await.map(Some)
}

/// Whoever changes a client's keys holds the head of its chain first; also where it was altered, since
/// that must not keep a key alive.
async fn wait_for_chain(tx: &Tx<'_>, client_id: &str) -> Done<()> {
    let sql = "SELECT 1 FROM audit_heads WHERE client_id = $1 FOR UPDATE";
    execute(tx, sql, &[&client_id]).await.map(drop)
}

/// `None`: there is no such key. Else whether it could be recorded.
async fn revoke_key(
    tx: &Tx<'_>,
    desk: &Desk,
    client_id: Option<&str>,
    id: &str,
    now: UnixMillis,
) -> Done<Option<Result<(), String>>> {
    let sql = "SELECT client_id FROM api_keys \
               WHERE id = $1 AND client_id = coalesce($2, client_id)";
    let Some(found) = row(tx, sql, &[&id, &client_id]).await? else { return Ok(None) };
    let owner: String = found.try_get(0)?;
    wait_for_chain(tx, &owner).await?;
    let sql = "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    if execute(tx, sql, &[&id, &millis(now)]).await? == 0 {
        return Ok(Some(Ok(())));
    }
    let event = AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(id).by(OPERATOR);
    record_if_possible(tx, &desk.audit, &owner, vec![event]).await.map(Some)
}

fn client_record(row: &Row) -> Done<ClientRecord> {
    Ok(ClientRecord {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        livemode: row.try_get(2)?,
        created_at: time(row.try_get(3)?),
        revoked_at: row.try_get::<_, Option<i64>>(4)?.map(time),
        keys: unsigned(row.try_get(5)?),
    })
}
