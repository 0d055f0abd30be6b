//! Webhook endpoints of clients.

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

use super::Store;
use crate::endpoint_removal::{remove, removed_event};
use crate::keys;
use crate::lanes::LaneKey;
use crate::outbox::{ENDPOINT_MISSING, give_up};
use crate::types::{
    Caller, EndpointRecord, EndpointRequest, HostStatus, Read, Removed, Target, Write,
};
use crate::webhook_endpoints::{put, read, set_event, target};

/// Webhook endpoints.
impl Store {
    /// The endpoint of this caller and mode.
    pub fn webhook_endpoint(&self, caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        self.read(LaneKey::of(&caller.client_id), caller.clone(), |caller, db, _| {
            Box::pin(read(db, caller))
        })
    }

    /// The endpoint of this caller with the secrets that sign at `now`, and the operators' verdict
    /// on its host. `None`: the caller has no endpoint.
    pub fn webhook_target(
        &self,
        caller: &Caller,
        now: UnixMillis,
    ) -> Read<'_, Option<(Target, HostStatus)>> {
        let with = (caller.clone(), now);
        self.read(LaneKey::of(&caller.client_id), with, |(caller, now), db, env| {
            Box::pin(target(db, &env.sealer, caller, *now))
        })
    }

    /// Stores and records the endpoint in `wish`. Returns the endpoint and the secret in force.
    /// `None`: the caller's key is no longer active, and nothing was stored.
    pub fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        wish: EndpointRequest,
        now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        self.record(caller, (caller.clone(), wish, now), |(caller, wish, now), db, env| {
            Box::pin(async move {
                if keys::in_force(db, caller, *now).await?.is_none() {
                    return Ok((None, None));
                }
                let put = put(db, &env.sealer, caller, wish, *now).await?;
                Ok((Some(put), Some(set_event(caller, *now))))
            })
        })
    }

    /// Removes the caller's endpoint with its secrets, and records it. Waiting notifications become
    /// dead letters. The removed secret never signs again: `fresh` applies when the client later
    /// sets an endpoint without a secret.
    pub fn remove_webhook_endpoint(
        &self,
        caller: &Caller,
        fresh: SigningSecret,
        now: UnixMillis,
    ) -> Write<'_, Removed> {
        self.record(caller, (caller.clone(), fresh, now), |(caller, fresh, now), db, env| {
            Box::pin(async move {
                let removed = remove(db, &env.sealer, caller, fresh, *now).await?;
                if removed != Removed::Yes {
                    return Ok((removed, None));
                }
                let times = (*now, env.lease_clock(*now));
                give_up::of_client(db, caller.client_id.as_str(), ENDPOINT_MISSING, times).await?;
                Ok((removed, Some(removed_event(caller, *now))))
            })
        })
    }
}
