//! What operators measure: sums by the hour, written with the sessions that they count.

mod gauges;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

pub(super) use self::record::{Measured, record};
use super::lanes::Whose;
use super::{Read, SqliteStore, StoreError};
use crate::sketch::Sketch;
pub use crate::telemetry::Gauges;
use crate::telemetry::Telemetry;

/// An hour in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// Settled sessions by how they ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Outcomes {
    /// VERIFIED
    pub verified: u64,
    /// FAILED
    pub failed: u64,
    /// EXPIRED
    pub expired: u64,
}

impl Outcomes {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.verified.saturating_add(self.failed).saturating_add(self.expired)
    }

    fn add(&mut self, other: &Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.failed = self.failed.saturating_add(other.failed);
        self.expired = self.expired.saturating_add(other.expired);
    }
}

/// The live-mode sessions that settled in a window of hours.
#[derive(Clone, Debug, Default)]
pub struct MetricsSummary {
    /// How they ended.
    pub outcomes: Outcomes,
    /// Milliseconds from creation to the verdict; without expired ones.
    pub latency: Sketch,
    /// Microseconds that verifications took.
    pub processing: Sketch,
    /// A session once per type.
    pub by_credential_type: BTreeMap<String, Outcomes>,
    /// Sessions by the reason that they ended for.
    pub by_error_code: BTreeMap<String, u64>,
}

/// What a running gateway measures.
pub trait MetricsStore {
    /// Sums up the running hour and the `window_hours` before it: nothing that settled in the
    /// window is left out.
    fn metrics_summary(&self, window_hours: u64, now: UnixMillis) -> Read<'_, MetricsSummary>;

    /// What the files hold at this moment.
    fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges>;

    /// The counters of this process.
    fn telemetry(&self) -> &Arc<Telemetry>;
}

impl MetricsStore for SqliteStore {
    fn metrics_summary(&self, window_hours: u64, now: UnixMillis) -> Read<'_, MetricsSummary> {
        let last = hour_of(now);
        let first = last.saturating_sub(i64::try_from(window_hours).unwrap_or(i64::MAX));
        let read = move |reader: &super::readers::Reader| summary(&reader.main, first, last);
        self.fault.sum(self.readers.read_long(Whose::GATEWAY, read))
    }

    fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        let disk = self.disk.clone();
        self.readers.read_long(Whose::GATEWAY, move |reader| {
            Ok(Gauges { disk_full: disk.is_full(), ..gauges::read(reader, now)? })
        })
    }

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }
}

fn summary(main: &Connection, first: i64, last: i64) -> Result<MetricsSummary, StoreError> {
    // One moment for all three tables, and a short one.
    let moment = main.unchecked_transaction()?;
    let mut summary = MetricsSummary::default();
    add_hours(&moment, &mut summary, first, last)?;
    let mut statement = moment.prepare_cached(
        "SELECT credential_type, sum(verified), sum(failed), sum(expired) FROM metrics_types \
         WHERE hour BETWEEN ?1 AND ?2 GROUP BY credential_type",
    )?;
    let types = statement
        .query_map((first, last), |row| Ok((row.get(0)?, outcomes(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    summary.by_credential_type = types;
    let mut statement = moment.prepare_cached(
        "SELECT error_code, sum(sessions) FROM metrics_errors WHERE hour BETWEEN ?1 AND ?2 \
         GROUP BY error_code",
    )?;
    let errors = statement
        .query_map((first, last), |row| Ok((row.get(0)?, unsigned(row.get(1)?))))?
        .collect::<Result<_, _>>()?;
    summary.by_error_code = errors;
    Ok(summary)
}

fn add_hours(
    main: &Connection,
    summary: &mut MetricsSummary,
    first: i64,
    last: i64,
) -> Result<(), StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT verified, failed, expired, latency, processing FROM metrics_hours \
         WHERE hour BETWEEN ?1 AND ?2",
    )?;
    let mut rows = statement.query((first, last))?;
    while let Some(row) = rows.next()? {
        summary.outcomes.add(&outcomes(row, 0)?);
        summary.latency.merge(&sketch(row, 3)?);
        summary.processing.merge(&sketch(row, 4)?);
    }
    Ok(())
}

/// Three columns from `at` on.
fn outcomes(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Outcomes> {
    let count = |more: usize| Ok::<_, rusqlite::Error>(unsigned(row.get(at.saturating_add(more))?));
    Ok(Outcomes { verified: count(0)?, failed: count(1)?, expired: count(2)? })
}

fn sketch(row: &rusqlite::Row<'_>, at: usize) -> Result<Sketch, StoreError> {
    let bytes = row.get_ref(at)?.as_blob().unwrap_or_default();
    let damaged = || StoreError::Failed("a stored latency sketch cannot be read".into());
    Sketch::from_bytes(bytes).ok_or_else(damaged)
}

/// Hours since 1970.
fn hour_of(time: UnixMillis) -> i64 {
    i64::try_from(time.0.checked_div(HOUR_MS).unwrap_or(0)).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
