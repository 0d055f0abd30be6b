//! Tests whether the store can write. Anyone may ask, so asking has to be cheap: one write is tried
//! at a time, and its outcome holds for a second.

use std::time::Duration;

use tokio::sync::Mutex;

use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::shared::Shared;
use crate::postgres_statements::execute;
use idgate_base::clock::Stopwatch;

/// How long an outcome holds.
const KEPT_US: u64 = 1_000_000;

/// How long a readiness check waits for its answer.
const PATIENCE: Duration = Duration::from_millis(1800);

/// The outcome of the latest attempt.
#[derive(Default)]
pub(super) struct Latest(Mutex<Option<(Stopwatch, Result<(), StoreError>)>>);

/// The latest outcome, or a new one.
pub(super) async fn ask(shared: &Shared) -> Done<()> {
    let mut latest = shared.probe.0.lock().await;
    if let Some((at, outcome)) = &*latest
        && at.elapsed_us() < KEPT_US
    {
        return outcome.clone().map_err(Failure::Store);
    }
    let outcome = match shared.clock.timeout(PATIENCE, write(shared)).await {
        Ok(written) => written.map_err(StoreError::from),
        Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer".into())),
    };
    *latest = Some((Stopwatch::new(), outcome.clone()));
    outcome.map_err(Failure::Store)
}

async fn write(shared: &Shared) -> Done<()> {
    let client = shared.pool.client().await?;
    execute(
        &client,
        "INSERT INTO probe (id, writes) VALUES (1, 1) \
         ON CONFLICT (id) DO UPDATE SET writes = probe.writes + 1",
        &[],
    )
    .await?;
    Ok(())
}
