//! The status events of a session: in its row, so that they are committed with it and read with it at
//! one instant.

use idgate_core::ids::SessionId;

use super::super::changes::Watch;
use super::super::events::parse;
use super::super::interface::{Caller, EventPage, EventStore, Read};
use super::error::Done;
use super::gateway::PostgresStore;
use super::shared::Shared;
use super::sql::row;

impl EventStore for PostgresStore {
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>> {
        let (caller, id) = (caller.clone(), id.clone());
        self.fault.read(
            self.read(move |shared| async move { page(&shared, &caller, &id, after, limit).await }),
        )
    }

    fn watch(&self, id: &SessionId) -> Watch {
        self.shared.changes.watch(id)
    }
}

async fn page(
    shared: &Shared,
    caller: &Caller,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Done<Option<EventPage>> {
    let client = shared.pool.client().await?;
    let found = row(
        &client,
        "SELECT settled_at IS NOT NULL, events FROM sessions \
         WHERE id = $1 AND client_id = $2 AND livemode = $3",
        &[&id.as_str(), &caller.client_id.as_str(), &caller.livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let all = parse(found.try_get(1)?)?;
    let last = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let skipped = usize::try_from(after).unwrap_or(usize::MAX);
    let events = all.into_iter().skip(skipped).take(limit).collect();
    Ok(Some(EventPage { events, last, settled: found.try_get(0)? }))
}
