//! Removes a client's webhook endpoint.

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

use super::db::{Db, sql};
use super::failure::Done;
use super::keys;
use super::types::{Caller, Removed};
use crate::audit_chain::{AuditEvent, AuditStatus};
use crate::seal::Sealer;

/// Removes the endpoint of a client. The next one gets a new secret. The caller gives up the
/// notifications that wait for the endpoint.
pub(super) async fn remove(
    db: &Db<'_>,
    sealer: &Sealer,
    caller: &Caller,
    fresh: &SigningSecret,
    now: UnixMillis,
) -> Done<Removed> {
    let client_id = caller.client_id.as_str();
    if keys::in_force(db, caller, now).await?.is_none() {
        return Ok(Removed::KeyGone);
    }
    let remove = sql("DELETE FROM webhook_endpoints WHERE client_id = $1 AND livemode = $2");
    if db.run(remove, &[&client_id, &caller.livemode]).await? == 0 {
        return Ok(Removed::NoEndpoint);
    }
    let sealed = sealer.seal(keys::secret_place(client_id), fresh.expose().as_bytes())?;
    let change = sql("UPDATE clients SET signing_secret = $2 WHERE id = $1");
    db.run(change, &[&client_id, &sealed]).await?;
    Ok(Removed::Yes)
}

/// The audit entry for the removal.
pub(super) fn removed_event(caller: &Caller, now: UnixMillis) -> AuditEvent {
    AuditEvent::of_client(AuditStatus::WebhookEndpointRemoved, now).by(&caller.key_id)
}
