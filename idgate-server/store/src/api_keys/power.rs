//! What a key may do to others. The caller was authenticated before the transaction, so that what its own
//! key may do is looked at again inside: a key that was rotated or revoked in between must not leave
//! another behind, and none makes or takes over one that can do more than itself (decisions 25).

use idgate_core::UnixMillis;

use super::super::types::{ApiKeyRecord, Caller, KeyRotated, StoreError};
use crate::audit_chain::{AuditEvent, AuditStatus};
use idgate_base::api_key::SCOPES;

/// What a key may do, and for how long.
pub(crate) struct Power {
    /// `None`: all.
    scopes: Option<Vec<String>>,
    expires_at: Option<UnixMillis>,
}

impl Power {
    /// Of the caller's own key, which is in force.
    pub(crate) fn of(caller: &Caller, expires_at: Option<UnixMillis>) -> Self {
        Self { scopes: caller.scopes.clone(), expires_at }
    }

    fn has_scopes(&self, wanted: Option<&[String]>) -> bool {
        let has = |scope: &str| {
            self.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|own| own == scope))
        };
        match wanted {
            Some(wanted) => wanted.iter().all(|scope| has(scope)),
            None => SCOPES.iter().all(|scope| has(scope)),
        }
    }

    /// Whether it is good until then.
    pub(crate) fn lasts(&self, expires_at: Option<UnixMillis>) -> bool {
        self.expires_at.is_none_or(|own| expires_at.is_some_and(|at| at <= own))
    }

    /// Why the caller may not give this key another value; `None`: it may.
    pub(crate) fn refuses_to_rotate(
        &self,
        caller: &Caller,
        key: &ApiKeyRecord,
    ) -> Option<KeyRotated> {
        if key.id == caller.key_id {
            None
        } else if !self.has_scopes(key.scopes.as_deref()) {
            Some(KeyRotated::BeyondScopes)
        } else if !self.lasts(key.expires_at) {
            Some(KeyRotated::OutlivesCaller)
        } else {
            None
        }
    }
}

/// That the caller made this key.
pub(crate) fn created(caller: &Caller, key: &ApiKeyRecord) -> AuditEvent {
    AuditEvent::of_client(AuditStatus::ApiKeyCreated, key.created_at)
        .about_key(&key.id)
        .with_scopes(key.scopes.as_deref())
        .by(&caller.key_id)
}

/// That the caller changed this key.
pub(crate) fn changed(
    caller: &Caller,
    status: AuditStatus,
    key_id: &str,
    now: UnixMillis,
) -> AuditEvent {
    AuditEvent::of_client(status, now).about_key(key_id).by(&caller.key_id)
}

/// The scopes of a key from what is stored.
pub(crate) fn scopes(id: &str, stored: Option<String>) -> Result<Option<Vec<String>>, StoreError> {
    let scopes = stored.map(|scopes| serde_json::from_str(&scopes)).transpose();
    scopes.map_err(|_| StoreError::Failed(format!("the scopes of {id} cannot be read")))
}
