//! What operators measure: sums by the hour, of which there are as many rows as were written at the same
//! time. Whoever counts takes a row that nobody else holds, or makes one, so that no settlement waits for
//! another's, on this node or elsewhere. Hours are those of the settlements: the callers' time.

use std::collections::BTreeMap;

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::db::Db;
use super::super::metrics::{self, Gain, KEPT_HOURS, OTHER_TYPES};
use super::super::sql::number;
use super::super::types::{Outcomes, Read};
use super::claims;
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::shared::Shared;
use crate::limits::MAX_COUNTED_TYPES;
use crate::postgres_statements::{execute, row};
use crate::sketch::Sketch;
use idgate_base::telemetry::Gauges;

/// The sums of an hour that one transaction adds to.
pub(super) struct Sums {
    shard: String,
    latency: Sketch,
    processing: Sketch,
}

/// The sums that these gains are added to, for each hour its own.
pub(super) async fn take(tx: &Tx<'_>, gains: &BTreeMap<i64, Gain<'_>>) -> Done<Vec<Sums>> {
    let mut taken = Vec::new();
    for hour in gains.keys() {
        taken.push(match free(tx, *hour).await? {
            Some(sums) => sums,
            None => make(tx, *hour).await?,
        });
    }
    Ok(taken)
}

/// Adds gains to what was taken for them.
pub(super) async fn add(tx: &Tx<'_>, sums: Vec<Sums>, gains: &BTreeMap<i64, Gain<'_>>) -> Done<()> {
    for ((hour, gain), mut sums) in gains.iter().zip(sums) {
        sums.latency.merge(&gain.latency);
        sums.processing.merge(&gain.processing);
        let (hours, types) =
            (add_to_hour(tx, *hour, &sums, gain), add_to_types(tx, *hour, &sums, gain));
        let errors = add_to_errors(tx, *hour, &sums, gain);
        let (hours, types, errors) = tokio::join!(hours, types, errors);
        hours.and(types).and(errors)?;
    }
    Ok(())
}

async fn add_to_hour(tx: &Tx<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    let Outcomes { verified, failed, expired } = gain.outcomes;
    execute(
        tx,
        "UPDATE metrics_hours SET verified = verified + $3, failed = failed + $4, \
         expired = expired + $5, latency = $6, processing = $7 WHERE hour = $1 AND shard = $2",
        &[
            &hour,
            &sums.shard,
            &number(verified),
            &number(failed),
            &number(expired),
            &sums.latency.to_bytes(),
            &sums.processing.to_bytes(),
        ],
    )
    .await?;
    Ok(())
}

async fn add_to_types(tx: &Tx<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    for (name, outcomes) in &gain.types {
        let Outcomes { verified, failed, expired } = *outcomes;
        execute(
            tx,
            "INSERT INTO metrics_types AS t SELECT $1::bigint, $2::text, CASE WHEN \
                 EXISTS (SELECT FROM metrics_types WHERE hour = $1 AND credential_type = $3) OR \
                 (SELECT count(DISTINCT credential_type) FROM metrics_types WHERE hour = $1) < $7 \
                 THEN $3::text ELSE $8::text END, $4::bigint, $5::bigint, $6::bigint \
             ON CONFLICT (hour, shard, credential_type) DO UPDATE SET \
             verified = t.verified + excluded.verified, failed = t.failed + excluded.failed, \
             expired = t.expired + excluded.expired",
            &[
                &hour,
                &sums.shard,
                name,
                &number(verified),
                &number(failed),
                &number(expired),
                &number(MAX_COUNTED_TYPES),
                &OTHER_TYPES,
            ],
        )
        .await?;
    }
    Ok(())
}

async fn add_to_errors(tx: &Tx<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    for (code, count) in &gain.errors {
        execute(
            tx,
            "INSERT INTO metrics_errors AS e VALUES ($1, $2, $3, $4) \
             ON CONFLICT (hour, shard, error_code) DO UPDATE \
             SET sessions = e.sessions + excluded.sessions",
            &[&hour, &sums.shard, code, &number(*count)],
        )
        .await?;
    }
    Ok(())
}

/// Sums that nobody else adds to before this transaction ends; what cannot be read is left alone.
async fn free(tx: &Tx<'_>, hour: i64) -> Done<Option<Sums>> {
    let found = row(
        tx,
        "SELECT shard, latency, processing FROM metrics_hours WHERE hour = $1 \
         ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED",
        &[&hour],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let (latency, processing) = (sketch(&found, 1), sketch(&found, 2));
    let shard = found.try_get(0)?;
    let readable = latency.and_then(|latency| Ok((latency, processing?)));
    Ok(readable.ok().map(|(latency, processing)| Sums { shard, latency, processing }))
}

async fn make(tx: &Tx<'_>, hour: i64) -> Done<Sums> {
    let (latency, processing) = (Sketch::default(), Sketch::default());
    let made = row(
        tx,
        "INSERT INTO metrics_hours VALUES ($1, gen_random_uuid()::text, 0, 0, 0, $2, $3) \
         RETURNING shard",
        &[&hour, &latency.to_bytes(), &processing.to_bytes()],
    )
    .await?;
    let made = made.ok_or_else(|| Failure::failed("sums are not stored"))?;
    // Hours that no window reaches any more.
    let before = hour.saturating_sub(KEPT_HOURS);
    for table in ["metrics_hours", "metrics_types", "metrics_errors"] {
        let sql = format!(
            "DELETE FROM {table} WHERE ctid IN ( \
             SELECT ctid FROM {table} WHERE hour < $1 FOR UPDATE SKIP LOCKED)"
        );
        execute(tx, &sql, &[&before]).await?;
    }
    Ok(Sums { shard: made.try_get(0)?, latency, processing })
}

fn sketch(row: &Row, at: usize) -> Done<Sketch> {
    let bytes: &[u8] = row.try_get(at)?;
    Sketch::from_bytes(bytes)
        .ok_or_else(|| Failure::failed("a stored latency sketch cannot be read"))
}

async fn gauges(shared: &Shared, now: UnixMillis) -> Done<Gauges> {
    // Before this asks for one itself.
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
