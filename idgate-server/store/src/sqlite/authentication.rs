//! Finds the owner of an API key or admin token. A read waits in the lane of its key, once the key
//! is known to be active.

use idgate_core::{SessionId, UnixMillis};

use super::SqliteStore;
use crate::authentication::{Authenticated, authenticate, store_uses};
use crate::db::{Db, at_once};
use crate::keys;
use crate::sqlite::lane_cache::{admin_lane, key_lane};
use crate::sqlite::readers::Reader;
use crate::sqlite::session_rows::with_result;
use crate::types::{Caller, Read, SessionFound};

impl SqliteStore {
    /// Notes a key that is about to become active.
    pub(crate) fn know_key(&self, digest: &[u8; 32], client_id: &str) {
        self.known_keys.note(*digest, key_lane(client_id));
    }

    pub(crate) fn authenticate(
        &self,
        digest: &[u8; 32],
        session: Option<&SessionId>,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (env, digest, id) = (self.env.clone(), *digest, session.cloned());
        let read = move |reader: &Reader| {
            let asked = (&digest, id.as_ref().map(SessionId::as_str));
            let found = at_once(authenticate(&Db::sqlite(&reader.main), &env, asked, now))?;
            Ok(found.map(|Authenticated { caller, session, last_used }| {
                let session = session.map(|found| with_result(reader, &env.sealer, &found, now));
                (caller, session.transpose(), last_used)
            }))
        };
        let found = self.readers.read(self.known_keys.lane(digest), read);
        Box::pin(async move {
            let Some((caller, session, last_used)) = found.await? else {
                self.known_keys.forget(digest);
                return Ok(None);
            };
            self.know_key(&digest, caller.client_id.as_str());
            self.store_uses(self.env.uses.note(&caller.key_id, last_used, now));
            Ok(Some((caller, session)))
        })
    }

    pub(crate) fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        let digest = *digest;
        let read = move |reader: &Reader| at_once(keys::admin(&Db::sqlite(&reader.main), &digest));
        let found = self.readers.read(self.known_keys.lane(digest), read);
        Box::pin(async move {
            let found = found.await?;
            match &found {
                Some(id) => self.known_keys.note(digest, admin_lane(id)),
                None => self.known_keys.forget(digest),
            }
            Ok(found)
        })
    }

    /// Queues the uses of keys for storing, without waiting.
    pub(super) fn store_uses(&self, due: Vec<(String, UnixMillis)>) {
        if !due.is_empty() {
            // It is queued when this returns, so the answer is not needed. A full queue only loses
            // this update.
            drop(
                self.writer.submit(move |batch| at_once(store_uses(&Db::sqlite(batch.main), &due))),
            );
        }
    }
}
