//! Adds settled sessions to the sums of their hours, in the transaction that settles them. The hour
//! is that of the settlement, in the caller's time.
//!
//! PostgreSQL has as many rows for an hour as there were concurrent writers. A transaction takes a
//! row that no other transaction holds, or inserts one, so no settlement waits for another, on this
//! node or elsewhere. SQLite has one row and one writer, which adds a group of jobs at a time.

use std::collections::BTreeMap;

use super::super::db::{Db, Row, Values, sql};
use super::super::failure::{Done, Failure};
use super::super::sql::number;
use super::{Gain, KEPT_HOURS, OTHER_TYPES, sketch};
use crate::limits::MAX_COUNTED_TYPES;
use crate::sketch::Sketch;
use crate::types::Outcomes;

/// The sums of an hour that one transaction adds to.
pub(crate) struct Sums {
    shard: String,
    latency: Sketch,
    processing: Sketch,
}

/// The row to add to for each of these hours.
pub(crate) async fn take(db: &Db<'_>, gains: &BTreeMap<i64, Gain<'_>>) -> Done<Vec<Sums>> {
    let mut taken = Vec::new();
    for hour in gains.keys() {
        taken.push(match free(db, *hour).await? {
            Some(sums) => sums,
            None => make(db, *hour).await?,
        });
    }
    Ok(taken)
}

/// Adds amounts to the sums that [`take`] took for them.
pub(crate) async fn add(db: &Db<'_>, sums: Vec<Sums>, gains: &BTreeMap<i64, Gain<'_>>) -> Done<()> {
    for ((hour, gain), mut sums) in gains.iter().zip(sums) {
        sums.latency.merge(&gain.latency);
        sums.processing.merge(&gain.processing);
        let (hours, types, errors) = tokio::join!(
            add_to_hour(db, *hour, &sums, gain),
            add_to_types(db, *hour, &sums, gain),
            add_to_errors(db, *hour, &sums, gain),
        );
        hours.and(types).and(errors)?;
    }
    Ok(())
}

async fn add_to_hour(db: &Db<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    let Outcomes { verified, failed, expired } = gain.outcomes;
    let sql = sql("UPDATE metrics_hours SET verified = verified + $3, failed = failed + $4, \
                   expired = expired + $5, latency = $6, processing = $7 \
                   WHERE hour = $1 {AND shard = $2}");
    let (latency, processing) = (sums.latency.to_bytes(), sums.processing.to_bytes());
    let counts = (number(verified), number(failed), number(expired));
    db.run(sql, &[&hour, &sums.shard, &counts.0, &counts.1, &counts.2, &latency, &processing])
        .await
        .map(drop)
}

async fn add_to_types(db: &Db<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    let sql = sql("INSERT INTO metrics_types AS t SELECT CAST($1 AS bigint), {CAST($2 AS text),} \
         CASE WHEN EXISTS (SELECT 1 FROM metrics_types WHERE hour = $1 AND credential_type = $3) \
             OR (SELECT count({DISTINCT }credential_type) FROM metrics_types WHERE hour = $1) < $7 \
             THEN CAST($3 AS text) ELSE CAST($8 AS text) END, \
         CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS bigint) WHERE true \
         ON CONFLICT (hour, {shard,} credential_type) DO UPDATE SET \
         verified = t.verified + excluded.verified, failed = t.failed + excluded.failed, \
         expired = t.expired + excluded.expired");
    for (name, outcomes) in &gain.types {
        let Outcomes { verified, failed, expired } = *outcomes;
        let counts = (number(verified), number(failed), number(expired));
        let values: Values<'_> = &[
            &hour,
            &sums.shard,
            name,
            &counts.0,
            &counts.1,
            &counts.2,
            &MAX_COUNTED_TYPES,
            &OTHER_TYPES,
        ];
        db.run(sql, values).await?;
    }
    Ok(())
}

async fn add_to_errors(db: &Db<'_>, hour: i64, sums: &Sums, gain: &Gain<'_>) -> Done<()> {
    let sql = sql("INSERT INTO metrics_errors AS e VALUES ($1, {$2,} $3, $4) \
                   ON CONFLICT (hour, {shard,} error_code) DO UPDATE \
                   SET sessions = e.sessions + excluded.sessions");
    for (code, count) in &gain.errors {
        db.run(sql, &[&hour, &sums.shard, code, &number(*count)]).await?;
    }
    Ok(())
}

/// A row that no other transaction changes before this one ends.
async fn free(db: &Db<'_>, hour: i64) -> Done<Option<Sums>> {
    let sql = sql("SELECT {shard|''}, latency, processing FROM metrics_hours WHERE hour = $1 \
                   {ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED}");
    let read = |row: &Row<'_>| Ok((row.get(0)?, sketch(row, 1), sketch(row, 2)));
    let Some((shard, latency, processing)) = db.one(sql, &[&hour], read).await? else {
        return Ok(None);
    };
    match latency.and_then(|latency| Ok((latency, processing?))) {
        Ok((latency, processing)) => Ok(Some(Sums { shard, latency, processing })),
        Err(failure) if matches!(db, Db::Sqlite(_)) => Err(failure),
        // Leave the damaged row alone and use a new one.
        Err(_) => Ok(None),
    }
}

async fn make(db: &Db<'_>, hour: i64) -> Done<Sums> {
    let (latency, processing) = (Sketch::default(), Sketch::default());
    let sql = sql("INSERT INTO metrics_hours VALUES \
                   ($1, {CAST(gen_random_uuid() AS text),} 0, 0, 0, $2, $3) RETURNING {shard|''}");
    let values: Values<'_> = &[&hour, &latency.to_bytes(), &processing.to_bytes()];
    let made = db.one(sql, values, |row| row.get(0)).await?;
    let shard = made.ok_or_else(|| Failure::failed("sums are not stored"))?;
    forget(db, hour.saturating_sub(KEPT_HOURS)).await?;
    Ok(Sums { shard, latency, processing })
}

/// Removes hours that no window can reach.
async fn forget(db: &Db<'_>, before: i64) -> Done<()> {
    for sql in [
        sql("DELETE FROM metrics_hours WHERE {ctid IN (SELECT ctid FROM metrics_hours \
             WHERE hour < $1 FOR UPDATE SKIP LOCKED)|hour < $1}"),
        sql("DELETE FROM metrics_types WHERE {ctid IN (SELECT ctid FROM metrics_types \
             WHERE hour < $1 FOR UPDATE SKIP LOCKED)|hour < $1}"),
        sql("DELETE FROM metrics_errors WHERE {ctid IN (SELECT ctid FROM metrics_errors \
             WHERE hour < $1 FOR UPDATE SKIP LOCKED)|hour < $1}"),
    ] {
        db.run(sql, &[&before]).await?;
    }
    Ok(())
}
