//! Where clients are notified. `created_at`, and how long a replaced secret signs on, are the callers'
//! times.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::db::Db;
use super::super::interface::{
    Caller, EndpointRecord, EndpointStore, EndpointWish, HostStatus, Read, Removed, Target, Write,
};
use super::super::keys;
use super::super::lanes::Whose;
use super::super::webhook_endpoints;
use super::error::Done;
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::shared::Shared;
use super::{audit, endpoint_removal};

async fn put(
    shared: &Shared,
    tx: &Tx<'_>,
    caller: &Caller,
    wish: &EndpointWish,
    now: UnixMillis,
) -> Done<Option<(EndpointRecord, SigningSecret)>> {
    let (sealer, client_id) = (&*shared.sealer, caller.client_id.as_str());
    audit::hold(tx, &shared.audit, client_id).await?;
    if keys::in_force(&Db::Transaction(tx), caller, now).await?.is_none() {
        return Ok(None);
    }
    let put = webhook_endpoints::put(&Db::Transaction(tx), sealer, caller, wish, now).await?;
    let event = webhook_endpoints::set_event(caller, now);
    audit::append(tx, &shared.audit, client_id, event).await?;
    Ok(Some(put))
}

impl EndpointStore for PostgresStore {
    fn webhook_endpoint(&self, caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        let caller = caller.clone();
        self.read(move |shared| async move {
            webhook_endpoints::read(&Db::Client(&shared.pool.client().await?), &caller).await
        })
    }

    fn webhook_target(
        &self,
        caller: &Caller,
        now: UnixMillis,
    ) -> Read<'_, Option<(Target, HostStatus)>> {
        let caller = caller.clone();
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            webhook_endpoints::target(&Db::Client(&client), &shared.sealer, &caller, now).await
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
