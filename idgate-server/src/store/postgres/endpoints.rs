//! Where clients are notified.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::interface::{Caller, EndpointRecord, EndpointStore, EndpointWish, Read, Write};
use super::PostgresStore;
use super::error::Failure;

impl EndpointStore for PostgresStore {
    fn webhook_endpoint(&self, _caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn put_webhook_endpoint(
        &self,
        _caller: &Caller,
        _wish: EndpointWish,
        _now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }
}
