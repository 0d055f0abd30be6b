//! What the operator does with one client: its keys, its quotas, how it is shown to people, and the
//! origins that its own pages have.

use idgate_core::time::UnixMillis;
use rusqlite::OptionalExtension as _;

use super::{SqliteOperator, record_if_possible};
use crate::api_key::ApiKey;
use crate::audit::{AuditEvent, AuditStatus, OPERATOR};
use crate::store::api_keys::{self, KeyRow};
use crate::store::audit;
use crate::store::certificates;
use crate::store::directory::Change;
use crate::store::fresh;
use crate::store::interface::{ApiKeyRecord, KeyValue, StoreError};
use crate::store::keys::{self, ClientRecord, ClientWish, NewClient};
use crate::store::operator::{ClientChange, ClientOperator, ClientSettings};
use crate::store::quotas::OwnQuotas;
use crate::store::sql::{millis, number};

impl ClientOperator for SqliteOperator {
    fn create_client(
        &mut self,
        name: &str,
        livemode: bool,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<NewClient, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let wish = ClientWish { name, livemode, scopes };
        let client = keys::create_client(&transaction, &self.sealer, &wish, now)?;
        let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, now)
            .about_key(&client.key_id)
            .with_scopes(scopes);
        audit::append(&transaction, &self.audit, &client.client_id, event.by(OPERATOR))?;
        transaction.commit()?;
        Ok(client)
    }

    fn clients(&self) -> Result<Vec<ClientRecord>, StoreError> {
        keys::clients(&self.main)
    }

    fn revoke_client(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let mut transaction = Change::begin(&mut self.main, &self.first)?;
        let revoked = keys::revoke_client(&transaction, id, now)?;
        let ended = certificates::end(&transaction, id, now)?;
        let keys = revoked.iter().flat_map(|revoked| &revoked.keys);
        let keys =
            keys.map(|key| AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(key));
        let client = revoked.iter().filter(|revoked| revoked.is_new);
        let client = client.map(|revoked| {
            let event = AuditEvent::of_client(AuditStatus::ClientRevoked, now);
            event.with_open_sessions(revoked.open_sessions)
        });
        let events = keys.chain(client).map(|event| event.by(OPERATOR));
        let recorded = record_if_possible(&mut transaction, &self.audit, id, events)?;
        transaction.commit()?;
        if ended {
            self.cut_log();
        }
        recorded.map_err(|why| {
            StoreError::Failed(format!("every key of {id} is stopped, but {why}"))
        })?;
        Ok(revoked.is_some())
    }

    fn create_key(
        &mut self,
        client_id: &str,
        name: Option<&str>,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<Option<(ApiKeyRecord, ApiKey)>, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let livemode: Option<bool> = transaction
            .prepare("SELECT livemode FROM clients WHERE id = ?1 AND revoked_at IS NULL")?
            .query_row([client_id], |row| row.get(0))
            .optional()?;
        let Some(livemode) = livemode else { return Ok(None) };
        let (record, key) = fresh::api_key(livemode, name, scopes, now)?;
        let value = &KeyValue::of(&key);
        api_keys::insert_row(&transaction, &KeyRow { client_id, record: &record, value })?;
        let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, now)
            .about_key(&record.id)
            .with_scopes(scopes);
        audit::append(&transaction, &self.audit, client_id, event.by(OPERATOR))?;
        transaction.commit()?;
        Ok(Some((record, key)))
    }

    fn client_keys(&self, client_id: &str) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        api_keys::of_client(&self.main, client_id)
    }

    fn revoke_key(
        &mut self,
        client_id: Option<&str>,
        id: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let mut transaction = Change::begin(&mut self.main, &self.first)?;
        let found: Option<(String, bool)> = transaction
            .prepare(
                "SELECT client_id, revoked_at IS NULL FROM api_keys \
                 WHERE id = ?1 AND client_id = coalesce(?2, client_id)",
            )?
            .query_row((id, client_id), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((owner, is_live)) = found else { return Ok(false) };
        if !is_live {
            return Ok(true);
        }
        transaction
            .execute("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1", (id, millis(now)))?;
        let event = AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(id);
        let events = std::iter::once(event.by(OPERATOR));
        let recorded = record_if_possible(&mut transaction, &self.audit, &owner, events)?;
        transaction.commit()?;
        recorded.map_err(|why| StoreError::Failed(format!("{id} is stopped, but {why}")))?;
        Ok(true)
    }

    fn set_client(&mut self, id: &str, change: &ClientChange) -> Result<bool, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let found = transaction.execute(
            "UPDATE clients SET name = coalesce(?2, name), logo = coalesce(?3, logo), \
             logo_type = coalesce(?4, logo_type), \
             max_keys = iif(?5, ?6, max_keys), \
             max_open_sessions = iif(?7, ?8, max_open_sessions) WHERE id = ?1",
            (
                id,
                &change.name,
                change.logo.as_ref().map(|logo| &logo.bytes),
                change.logo.as_ref().map(|logo| logo.media_type),
                change.max_keys.is_some(),
                change.max_keys.flatten().map(number),
                change.max_open_sessions.is_some(),
                change.max_open_sessions.flatten().map(number),
            ),
        )?;
        transaction.commit()?;
        Ok(found > 0)
    }

    fn client_settings(&self, id: &str) -> Result<Option<ClientSettings>, StoreError> {
        let found: Option<(String, Option<String>)> = self
            .main
            .prepare("SELECT name, logo_type FROM clients WHERE id = ?1")?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((name, logo_type)) = found else { return Ok(None) };
        let origins = keys::origins(&self.main, id)?;
        let quotas = OwnQuotas::of(&self.main, id)?;
        Ok(Some(ClientSettings { name, logo_type, quotas, origins }))
    }

    fn add_origin(
        &mut self,
        client_id: &str,
        origin: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let added = self.main.execute(
            "INSERT INTO client_origins (client_id, origin, added_at) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO NOTHING",
            (client_id, origin, millis(now)),
        )?;
        Ok(added > 0)
    }

    fn remove_origin(&mut self, client_id: &str, origin: &str) -> Result<bool, StoreError> {
        let removed = self.main.execute(
            "DELETE FROM client_origins WHERE client_id = ?1 AND origin = ?2",
            (client_id, origin),
        )?;
        Ok(removed > 0)
    }
}
