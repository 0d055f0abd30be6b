//! A client that is notified no more.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::interface::{Caller, Removed};
use super::super::keys::secret_place;
use super::super::outbox::ENDPOINT_MISSING;
use super::error::Done;
use super::outbox::queue;
use super::pool::Tx;
use super::shared::Shared;
use super::sql::execute;
use super::{api_keys, audit};
use crate::audit::{AuditEvent, AuditStatus};

/// Removes the endpoint of a client. What waits for it is given up, and the next one has a new secret.
pub(super) async fn remove(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    fresh: &SigningSecret,
    now: UnixMillis,
) -> Done<Removed> {
    let client_id = caller.client_id.as_str();
    audit::hold(tx, &shared.audit, client_id).await?;
    if api_keys::in_force(tx, caller, now).await?.is_none() {
        return Ok(Removed::KeyGone);
    }
    let sql = "DELETE FROM webhook_endpoints WHERE client_id = $1 AND livemode = $2";
    if execute(tx, sql, &[&client_id, &caller.livemode]).await? == 0 {
        return Ok(Removed::NoEndpoint);
    }
    let sealed = shared.sealer.seal(secret_place(client_id), fresh.expose().as_bytes())?;
    let sql = "UPDATE clients SET signing_secret = $2 WHERE id = $1";
    execute(tx, sql, &[&client_id, &sealed]).await?;
    let times = (now, shared.claims_clock.at(now));
    queue::give_up_client(tx, client_id, ENDPOINT_MISSING, times).await?;
    let event = AuditEvent::of_client(AuditStatus::WebhookEndpointRemoved, now);
    audit::append(tx, &shared.audit, client_id, event.by(&caller.key_id)).await?;
    Ok(Removed::Yes)
}
