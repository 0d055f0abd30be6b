//! Where clients are notified.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::db::{Db, at_once};
use super::super::endpoint_removal::{remove, removed_event};
use super::super::interface::{
    Caller, EndpointRecord, EndpointStore, EndpointWish, HostStatus, Read, Removed, Target, Write,
};
use super::super::keys;
use super::super::lanes::Whose;
use super::super::outbox::{ENDPOINT_MISSING, queue};
use super::super::webhook_endpoints::{put, read, set_event, target};
use super::SqliteStore;

impl EndpointStore for SqliteStore {
    fn webhook_endpoint(&self, caller: &Caller) -> Read<'_, Option<EndpointRecord>> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        self.readers.read(whose, move |reader| at_once(read(&Db::sqlite(&reader.main), &caller)))
    }

    fn webhook_target(
        &self,
        caller: &Caller,
        now: UnixMillis,
    ) -> Read<'_, Option<(Target, HostStatus)>> {
        let (whose, caller, sealer) =
            (Whose::of(&caller.client_id), caller.clone(), self.sealer.clone());
        self.readers.read(whose, move |reader| {
            at_once(target(&Db::sqlite(&reader.main), &sealer, &caller, now))
        })
    }

    fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        wish: EndpointWish,
        now: UnixMillis,
    ) -> Write<'_, Option<(EndpointRecord, SigningSecret)>> {
        let (whose, caller, sealer) =
            (Whose::of(&caller.client_id), caller.clone(), self.sealer.clone());
        self.writer.submit_for(whose, move |batch| {
            if at_once(keys::in_force(&Db::sqlite(batch.main), &caller, now))?.is_none() {
                return Ok(None);
            }
            let put = at_once(put(&Db::sqlite(batch.main), &sealer, &caller, &wish, now))?;
            batch.audit(caller.client_id.as_str(), set_event(&caller, now))?;
            Ok(Some(put))
        })
    }

    fn remove_webhook_endpoint(
        &self,
        caller: &Caller,
        fresh: SigningSecret,
        now: UnixMillis,
    ) -> Write<'_, Removed> {
        let (whose, caller, sealer) =
            (Whose::of(&caller.client_id), caller.clone(), self.sealer.clone());
        self.writer.submit_for(whose, move |batch| {
            let (db, client_id) = (Db::sqlite(batch.main), caller.client_id.as_str());
            let removed = at_once(remove(&db, &sealer, &caller, &fresh, now))?;
            if matches!(removed, Removed::Yes) {
                queue::give_up_client(batch.main, client_id, ENDPOINT_MISSING, now)?;
                batch.audit(client_id, removed_event(&caller, now))?;
            }
            Ok(removed)
        })
    }
}
