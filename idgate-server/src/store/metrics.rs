//! What operators measure: sums by the hour, written with the sessions that they count.

mod gain;
pub(super) mod gauges;
mod record;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

pub(super) use self::gain::{Gain, Measured, gains};
pub(super) use self::record::{KEPT_HOURS, OTHER_TYPES, record};
use super::interface::{MetricsSummary, Outcomes, StoreError};
use super::sql::{number, unsigned};
use crate::sketch::Sketch;

/// An hour in milliseconds.
const HOUR_MS: u64 = 3_600_000;

pub(super) fn summary(
    main: &Connection,
    first: i64,
    last: i64,
) -> Result<MetricsSummary, StoreError> {
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
pub(super) fn hour_of(time: UnixMillis) -> i64 {
    number(time.0.checked_div(HOUR_MS).unwrap_or(0))
}
