//! A client that is notified no more.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::interface::{Caller, Removed, StoreError};
use super::keys;
use super::outbox::{ENDPOINT_MISSING, queue};
use super::writer::Batch;
use crate::audit::{AuditEvent, AuditStatus};
use crate::seal::Sealer;

/// Removes the endpoint of a client. What waits for it is given up, and the next one has a new secret.
pub(super) fn remove(
    batch: &mut Batch<'_>,
    sealer: &Arc<Sealer>,
    caller: &Caller,
    fresh: &SigningSecret,
    now: UnixMillis,
) -> Result<Removed, StoreError> {
    let (main, client_id) = (batch.main, caller.client_id.as_str());
    if keys::in_force(main, caller, now)?.is_none() {
        return Ok(Removed::KeyGone);
    }
    let removed = main
        .prepare_cached("DELETE FROM webhook_endpoints WHERE client_id = ?1 AND livemode = ?2")?
        .execute((client_id, caller.livemode))?;
    if removed == 0 {
        return Ok(Removed::NoEndpoint);
    }
    let sealed = sealer.seal(keys::secret_place(client_id), fresh.expose().as_bytes())?;
    main.prepare_cached("UPDATE clients SET signing_secret = ?2 WHERE id = ?1")?
        .execute((client_id, sealed))?;
    queue::give_up_client(main, client_id, ENDPOINT_MISSING, now)?;
    let event = AuditEvent::of_client(AuditStatus::WebhookEndpointRemoved, now);
    batch.audit(client_id, event.by(&caller.key_id))?;
    Ok(Removed::Yes)
}
