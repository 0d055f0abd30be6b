//! Creates, rotates and revokes keys as rows. Each change returns its outcome and the entry for the
//! client's audit chain.

use idgate_core::UnixMillis;

use super::super::db::{Db, sql};
use super::super::failure::Done;
use super::super::keys;
use super::super::sql::millis;
use super::super::types::{Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey};
use super::power::{self, Power};
use super::{KeyRow, insert_row, read};
use crate::audit_chain::{AuditEvent, AuditStatus};
use crate::quotas::Quotas;

/// The outcome of a change, and its entry for the client's audit chain.
type Recorded<T> = Done<(T, Option<AuditEvent>)>;

impl Power {
    /// The power of the caller's own key. `None`: that key is no longer active.
    async fn of_caller(db: &Db<'_>, caller: &Caller, now: UnixMillis) -> Done<Option<Self>> {
        let own = keys::in_force(db, caller, now).await?;
        Ok(own.map(|own| Self::of(caller, own.expires_at)))
    }
}

/// Stores a new key.
pub(crate) async fn insert(
    db: &Db<'_>,
    caller: &Caller,
    key: &NewApiKey,
    quotas: Quotas,
) -> Recorded<KeyMade> {
    let (record, client_id) = (&key.record, caller.client_id.as_str());
    let own = Power::of_caller(db, caller, record.created_at).await?;
    let Some(own) = own else { return Ok((KeyMade::CallerGone, None)) };
    if !own.lasts(record.expires_at) {
        return Ok((KeyMade::OutlivesCaller, None));
    }
    if !quotas.leave_a_key(db, client_id, record.created_at).await? {
        return Ok((KeyMade::TooMany, None));
    }
    insert_row(db, &KeyRow { client_id, record, value: &key.value }).await?;
    Ok((KeyMade::Yes, Some(power::created(caller, record))))
}

/// Revokes a key. Repeating it changes nothing.
pub(crate) async fn revoke(
    db: &Db<'_>,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Recorded<KeyRevoked> {
    if keys::in_force(db, caller, now).await?.is_none() {
        return Ok((KeyRevoked::CallerGone, None));
    }
    let find = sql("SELECT revoked_at IS NOT NULL FROM api_keys \
                    WHERE id = $1 AND client_id = $2 AND livemode = $3");
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    let was_revoked = db.one(find, &[&id, &client_id, &livemode], |row| row.get(0)).await?;
    match was_revoked {
        None => return Ok((KeyRevoked::NotFound, None)),
        Some(true) => return Ok((KeyRevoked::Yes, None)),
        Some(false) => {}
    }
    let stop = sql("UPDATE api_keys SET revoked_at = $2 WHERE id = $1");
    db.run(stop, &[&id, &millis(now)]).await?;
    let event = power::changed(caller, AuditStatus::ApiKeyRevoked, id, now);
    Ok((KeyRevoked::Yes, Some(event)))
}

/// Gives a key a new value.
pub(crate) async fn rotate(
    db: &Db<'_>,
    caller: &Caller,
    (id, value): (&str, &KeyValue),
    now: UnixMillis,
) -> Recorded<KeyRotated> {
    let own = Power::of_caller(db, caller, now).await?;
    let Some(own) = own else { return Ok((KeyRotated::CallerGone, None)) };
    let find = sql("SELECT id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, \
                    expires_at, last_used_at FROM api_keys \
                    WHERE id = $1 AND client_id = $2 AND livemode = $3 AND revoked_at IS NULL \
                    AND (expires_at IS NULL OR expires_at > $4)");
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    let found = db.one(find, &[&id, &client_id, &livemode, &millis(now)], read).await?;
    let Some(key) = found else { return Ok((KeyRotated::NotFound, None)) };
    if let Some(refused) = own.refuses_to_rotate(caller, &key) {
        return Ok((refused, None));
    }
    let change = sql("UPDATE api_keys SET digest = $2, hint = $3 WHERE id = $1");
    db.run(change, &[&id, &value.digest.as_slice(), &value.hint]).await?;
    let event = power::changed(caller, AuditStatus::ApiKeyRotated, id, now);
    Ok((KeyRotated::Yes(key), Some(event)))
}
