//! The status events of a session: in its row, so that they are committed with it and read with it at
//! one instant.

use idgate_core::ids::SessionId;

use super::super::changes::Watch;
use super::super::db::Db;
use super::super::events;
use super::super::interface::{Caller, EventPage, EventStore, Read};
use super::gateway::PostgresStore;

impl EventStore for PostgresStore {
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>> {
        let (caller, id) = (caller.clone(), id.clone());
        self.fault.read(self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            events::page(&Db::Client(&client), &caller, &id, after, limit).await
        }))
    }

    fn watch(&self, id: &SessionId) -> Watch {
        self.shared.changes.watch(id)
    }
}
