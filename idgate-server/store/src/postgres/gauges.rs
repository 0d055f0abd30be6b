//! Gauges of the database, and of the connections to it.

use idgate_core::UnixMillis;

use super::super::db::Db;
use super::super::metrics;
use super::super::types::Read;
use super::claims;
use super::error::Done;
use super::gateway::PostgresStore;
use super::shared::Shared;
use idgate_base::telemetry::Gauges;

async fn gauges(shared: &Shared, now: UnixMillis) -> Done<Gauges> {
    // Read before this function takes a connection itself.
    shared.env.telemetry.pool(shared.pool.load());
    let (claims_rows, purge_lag_ms) = claims::stored(shared, now).await?;
    let client = shared.pool.client().await?;
    let gauges = metrics::gauges::read(&Db::Client(&client), now).await?;
    Ok(Gauges { claims_rows, purge_lag_ms, ..gauges })
}

impl PostgresStore {
    pub(crate) fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        self.run_read(move |shared| async move { gauges(&shared, now).await })
    }
}
