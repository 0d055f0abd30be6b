//! Making, rotating and revoking keys as rows.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::super::db::{Db, at_once};
use super::super::interface::{
    ApiKeyRecord, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey, StoreError,
};
use super::super::keys;
use super::super::sql::millis;
use super::super::writer::Batch;
use super::power::{self, Power};
use super::{COLUMNS, insert_row, record};
use crate::audit::AuditStatus;
use crate::config::Quotas;

impl Power {
    /// Of the caller's own key; `None`: it is not in force any more.
    fn of_caller(
        main: &Connection,
        caller: &Caller,
        now: UnixMillis,
    ) -> Result<Option<Self>, StoreError> {
        let own = keys::in_force(main, caller, now)?;
        Ok(own.map(|own| Self::of(caller, own.expires_at)))
    }
}

pub(in crate::store) fn insert(
    batch: &mut Batch<'_>,
    caller: &Caller,
    key: &NewApiKey,
    quotas: Quotas,
) -> Result<KeyMade, StoreError> {
    let record = &key.record;
    let own = Power::of_caller(batch.main, caller, record.created_at)?;
    let Some(own) = own else { return Ok(KeyMade::CallerGone) };
    if !own.lasts(record.expires_at) {
        return Ok(KeyMade::OutlivesCaller);
    }
    let client_id = caller.client_id.as_str();
    if !quotas.leave_a_key(batch.main, client_id, record.created_at)? {
        return Ok(KeyMade::TooMany);
    }
    let row = KeyRow { client_id, record, value: &key.value };
    at_once(insert_row(&Db::sqlite(batch.main), &row))?;
    batch.audit(client_id, power::created(caller, record))?;
    Ok(KeyMade::Yes)
}

/// A key and whose it is.
pub(in crate::store) struct KeyRow<'a> {
    pub(in crate::store) client_id: &'a str,
    pub(in crate::store) record: &'a ApiKeyRecord,
    pub(in crate::store) value: &'a KeyValue,
}

pub(in crate::store) fn revoke(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Result<KeyRevoked, StoreError> {
    if keys::in_force(batch.main, caller, now)?.is_none() {
        return Ok(KeyRevoked::CallerGone);
    }
    let owner = (id, caller.client_id.as_str(), caller.livemode);
    let revoked: Option<bool> = batch
        .main
        .prepare_cached(
            "SELECT revoked_at IS NOT NULL FROM api_keys \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3",
        )?
        .query_row(owner, |row| row.get(0))
        .optional()?;
    let Some(was_revoked) = revoked else { return Ok(KeyRevoked::NotFound) };
    if !was_revoked {
        batch
            .main
            .prepare_cached("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1")?
            .execute((id, millis(now)))?;
        record_change(batch, caller, AuditStatus::ApiKeyRevoked, id, now)?;
    }
    Ok(KeyRevoked::Yes)
}

pub(in crate::store) fn rotate(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &str,
    value: &KeyValue,
    now: UnixMillis,
) -> Result<KeyRotated, StoreError> {
    let own = Power::of_caller(batch.main, caller, now)?;
    let Some(own) = own else { return Ok(KeyRotated::CallerGone) };
    let found = batch
        .main
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM api_keys \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3 AND revoked_at IS NULL \
             AND (expires_at IS NULL OR expires_at > ?4)"
        ))?
        .query_row((id, caller.client_id.as_str(), caller.livemode, millis(now)), |row| {
            Ok(record(row))
        })
        .optional()?
        .transpose()?;
    let Some(key) = found else { return Ok(KeyRotated::NotFound) };
    if let Some(refused) = own.refuses_to_rotate(caller, &key) {
        return Ok(refused);
    }
    batch
        .main
        .prepare_cached("UPDATE api_keys SET digest = ?2, hint = ?3 WHERE id = ?1")?
        .execute((id, value.digest, &value.hint))?;
    record_change(batch, caller, AuditStatus::ApiKeyRotated, id, now)?;
    Ok(KeyRotated::Yes(key))
}

fn record_change(
    batch: &mut Batch<'_>,
    caller: &Caller,
    status: AuditStatus,
    key_id: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    batch.audit(caller.client_id.as_str(), power::changed(caller, status, key_id, now))
}
