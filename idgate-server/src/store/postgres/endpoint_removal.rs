//! A client that is notified no more.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::db::Db;
use super::super::endpoint_removal::{remove as remove_rows, removed_event};
use super::super::interface::{Caller, Removed};
use super::super::outbox::ENDPOINT_MISSING;
use super::audit;
use super::error::Done;
use super::outbox::queue;
use super::pool::Tx;
use super::shared::Shared;

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
    let removed = remove_rows(&Db::Transaction(tx), &shared.sealer, caller, fresh, now).await?;
    if !matches!(removed, Removed::Yes) {
        return Ok(removed);
    }
    let times = (now, shared.claims_clock.at(now));
    queue::give_up_client(tx, client_id, ENDPOINT_MISSING, times).await?;
    audit::append(tx, &shared.audit, client_id, removed_event(caller, now)).await?;
    Ok(Removed::Yes)
}
