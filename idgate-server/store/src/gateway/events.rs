//! The status events of a session.

use idgate_core::SessionId;

use super::Store;
use crate::changes::Watch;
use crate::events;
use crate::lanes::LaneKey;
use crate::types::{Caller, EventPage, Read};

/// Status streams.
impl Store {
    /// At most `limit` events of this caller's session after the event `after`. `None`: the session
    /// does not exist.
    pub fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>> {
        let with = (caller.clone(), id.clone(), after, limit);
        let read = self.read(LaneKey::of(&caller.client_id), with, |with, db, _| {
            let (caller, id, after, limit) = with;
            Box::pin(events::page(db, caller, id, *after, *limit))
        });
        self.env.fault.read(read)
    }

    /// Watches a session from now on. It signals after each commit of this process, and soon after
    /// commits of other gateways that share the store.
    pub fn watch(&self, id: &SessionId) -> Watch {
        self.env.changes.watch(id)
    }
}
