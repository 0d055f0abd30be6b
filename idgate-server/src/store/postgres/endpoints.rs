//! Where clients are notified. `created_at`, and how long a replaced secret signs on, are the callers'
//! times.

use deadpool_postgres::GenericClient;
use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::interface::{
    Caller, EndpointRecord, EndpointStore, EndpointWish, HostStatus, Read, Removed, Target, Write,
};
use super::super::lanes::Whose;
use super::super::sql::{millis, time};
use super::super::webhook_endpoints::{OVERLAP_MS, place};
use super::destination::{destination, provisioned};
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::shared::Shared;
use super::sql::{execute, row};
use super::{api_keys, audit, endpoint_removal};
use crate::audit::{AuditEvent, AuditStatus};

async fn read(on: &impl GenericClient, caller: &Caller) -> Done<Option<EndpointRecord>> {
    let found = row(
        on,
        "SELECT e.client_id, e.url, e.created_at, h.status, h.note FROM webhook_endpoints AS e \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE e.client_id = $1 AND e.livemode = $2",
        &[&caller.client_id.as_str(), &caller.livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    Ok(Some(EndpointRecord {
        client_id: found.try_get(0)?,
        url: found.try_get(1)?,
        created_at: time(found.try_get(2)?),
        host_status: HostStatus::of(found.try_get(3)?),
        host_review_note: found.try_get(4)?,
    }))
}

async fn put(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    wish: &EndpointWish,
    now: UnixMillis,
) -> Done<Option<(EndpointRecord, SigningSecret)>> {
    let (sealer, client_id) = (&*shared.sealer, caller.client_id.as_str());
    audit::hold(tx, &shared.audit, client_id).await?;
    if api_keys::in_force(tx, caller, now).await?.is_none() {
        return Ok(None);
    }
    let current = destination(tx, sealer, client_id, now).await?.map(|it| it.secret);
    let secret = match wish.secret_after(current.as_ref()) {
        Some(secret) => secret,
        None => provisioned(tx, sealer, client_id).await?,
    };
    let replaces = current.is_some_and(|current| current.expose() != secret.expose());
    let sealed = sealer.seal(place(client_id), secret.expose().as_bytes())?;
    execute(
        tx,
        "INSERT INTO webhook_endpoints AS e (client_id, livemode, url, host, created_at, secret) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (client_id) DO UPDATE SET \
         url = excluded.url, host = excluded.host, secret = excluded.secret, \
         previous_secret = CASE WHEN $7 THEN e.secret ELSE e.previous_secret END, \
         previous_until = CASE WHEN $7 THEN $8 ELSE e.previous_until END",
        &[
            &client_id,
            &caller.livemode,
            &wish.url,
            &wish.host,
            &millis(now),
            &sealed,
            &replaces,
            &millis(now.plus(OVERLAP_MS)),
        ],
    )
    .await?;
    hold_if_pending(tx, client_id).await?;
    let event = AuditEvent::of_client(AuditStatus::WebhookEndpointSet, now);
    audit::append(tx, &shared.audit, client_id, event.by(&caller.key_id)).await?;
    let record = read(tx, caller).await?;
    let record = record.ok_or_else(|| Failure::failed("an endpoint is not stored"))?;
    Ok(Some((record, secret)))
}

/// Notes that a client's queued notifications now wait for a review, if they do.
async fn hold_if_pending(tx: &Tx<'_>, client_id: &str) -> Done<()> {
    execute(
        tx,
        "UPDATE webhook_deliveries SET held = true WHERE client_id = $1 AND failed_at IS NULL \
         AND NOT EXISTS (SELECT FROM webhook_endpoints AS e \
         JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = $1)",
        &[&client_id],
    )
    .await?;
    Ok(())
}

impl EndpointStore for PostgresStore {
    fn webhook_endpoint(&self, caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        let caller = caller.clone();
        self.read(move |shared| async move { read(&shared.pool.client().await?, &caller).await })
    }

    fn webhook_target(
        &self,
        caller: &Caller,
        now: UnixMillis,
    ) -> Read<'_, Option<(Target, HostStatus)>> {
        let caller = caller.clone();
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let Some(record) = read(&client, &caller).await? else { return Ok(None) };
            let client_id = caller.client_id.as_str();
            let to = destination(&client, &shared.sealer, client_id, now).await?;
            Ok(to.map(|to| (to.into_target(), record.host_status)))
        })
    }

    fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        wish: EndpointWish,
        now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        self.write(whose, move |shared| async move {
            let with = (&*shared, &caller, &wish);
            shared
                .pool
                .transact(&with, move |&(shared, caller, wish), tx| {
                    Box::pin(put(shared, tx, caller, wish, now))
                })
                .await
        })
    }

    fn remove_webhook_endpoint(
        &self,
        caller: &Caller,
        fresh: SigningSecret,
        now: UnixMillis,
    ) -> Write<'_, Removed> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        self.write(whose, move |shared| async move {
            let with = (&*shared, &caller, &fresh);
            shared
                .pool
                .transact(&with, move |&(shared, caller, fresh), tx| {
                    Box::pin(endpoint_removal::remove(shared, tx, caller, fresh, now))
                })
                .await
        })
    }
}
