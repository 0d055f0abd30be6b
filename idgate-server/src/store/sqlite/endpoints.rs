//! Where clients are notified.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::interface::{
    Caller, EndpointRecord, EndpointStore, EndpointWish, Read, Removed, Write,
};
use super::super::lanes::Whose;
use super::super::webhook_endpoints::{put, read, remove};
use super::SqliteStore;

impl EndpointStore for SqliteStore {
    fn webhook_endpoint(&self, caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        self.readers.read(whose, move |reader| read(&reader.main, &caller))
    }

    fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        wish: EndpointWish,
        now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        let (whose, caller, sealer) =
            (Whose::of(&caller.client_id), caller.clone(), self.sealer.clone());
        self.writer.submit_for(whose, move |batch| put(batch, &sealer, &caller, &wish, now))
    }

    fn remove_webhook_endpoint(
        &self,
        caller: &Caller,
        fresh: SigningSecret,
        now: UnixMillis,
    ) -> Write<'_, Removed> {
        let (whose, caller, sealer) =
            (Whose::of(&caller.client_id), caller.clone(), self.sealer.clone());
        self.writer.submit_for(whose, move |batch| remove(batch, &sealer, &caller, &fresh, now))
    }
}
