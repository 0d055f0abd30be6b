//! Which other keys a key may create or change. The caller was authenticated before the
//! transaction, so the transaction checks the caller's own key again: it may have been rotated or
//! revoked since. No key may create or take over a key that can do more than itself (decisions 25).

use idgate_core::UnixMillis;

use super::super::types::{ApiKeyRecord, Caller, KeyRotated, StoreError};
use crate::audit_chain::{AuditEvent, AuditStatus};
use idgate_base::api_key::SCOPES;

/// The scopes of a key, and when it expires.
pub(crate) struct Power {
    /// `None`: all scopes.
    scopes: Option<Vec<String>>,
    expires_at: Option<UnixMillis>,
}

impl Power {
    /// The power of the caller's own key, which is active.
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

    /// Whether the key is valid until then.
    pub(crate) fn lasts(&self, expires_at: Option<UnixMillis>) -> bool {
        self.expires_at.is_none_or(|own| expires_at.is_some_and(|at| at <= own))
    }

    /// Why the caller may not rotate this key. `None`: it may.
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

/// The audit entry: the caller created this key.
pub(crate) fn created(caller: &Caller, key: &ApiKeyRecord) -> AuditEvent {
    AuditEvent::of_client(AuditStatus::ApiKeyCreated, key.created_at)
        .about_key(&key.id)
        .with_scopes(key.scopes.as_deref())
        .by(&caller.key_id)
}

/// The audit entry: the caller changed this key.
pub(crate) fn changed(
    caller: &Caller,
    status: AuditStatus,
    key_id: &str,
    now: UnixMillis,
) -> AuditEvent {
    AuditEvent::of_client(status, now).about_key(key_id).by(&caller.key_id)
}

/// Parses the stored scopes of a key.
pub(crate) fn scopes(id: &str, stored: Option<String>) -> Result<Option<Vec<String>>, StoreError> {
    let scopes = stored.map(|scopes| serde_json::from_str(&scopes)).transpose();
    scopes.map_err(|_| StoreError::Failed(format!("the scopes of {id} cannot be read")))
}
