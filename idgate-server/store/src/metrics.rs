//! Metrics for operators: hourly sums, written with the sessions that they count.

mod gain;
pub(super) mod gauges;
pub(super) mod hours;

use idgate_core::UnixMillis;

pub(super) use self::gain::{Gain, Measured, gains};
use super::db::{Db, Row, sql};
use super::failure::{Done, Failure};
use super::sql::{number, unsigned};
use super::types::{MetricsSummary, Outcomes};
use crate::sketch::Sketch;

/// More hours than the longest window has, including the current one.
pub(crate) const KEPT_HOURS: i64 = 722;
/// The name under which all further types are counted.
pub(crate) const OTHER_TYPES: &str = "other";
/// An hour in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// The sums of these hours, in one snapshot of all three tables.
pub(super) async fn summary(db: &Db<'_>, first: i64, last: i64) -> Done<MetricsSummary> {
    let mut summary = MetricsSummary::default();
    let hours = sql("SELECT verified, failed, expired, latency, processing FROM metrics_hours \
                     WHERE hour BETWEEN $1 AND $2");
    let hour = |row: &Row<'_>| Ok((outcomes(row, 0)?, sketch(row, 3)?, sketch(row, 4)?));
    for (outcomes, latency, processing) in db.all(hours, &[&first, &last], hour).await? {
        summary.outcomes.add(&outcomes);
        summary.latency.merge(&latency);
        summary.processing.merge(&processing);
    }
    let types = sql("SELECT credential_type, CAST(sum(verified) AS bigint), \
                     CAST(sum(failed) AS bigint), CAST(sum(expired) AS bigint) \
                     FROM metrics_types WHERE hour BETWEEN $1 AND $2 GROUP BY credential_type");
    let of_type = |row: &Row<'_>| Ok((row.get(0)?, outcomes(row, 1)?));
    let types = db.all(types, &[&first, &last], of_type).await?;
    summary.by_credential_type = types.into_iter().collect();
    let errors = sql("SELECT error_code, CAST(sum(sessions) AS bigint) FROM metrics_errors \
                      WHERE hour BETWEEN $1 AND $2 GROUP BY error_code");
    let of_code = |row: &Row<'_>| Ok((row.get(0)?, unsigned(row.get(1)?)));
    let errors = db.all(errors, &[&first, &last], of_code).await?;
    summary.by_error_code = errors.into_iter().collect();
    Ok(summary)
}

/// Three columns from `at` on.
fn outcomes(row: &Row<'_>, at: usize) -> Done<Outcomes> {
    let count = |more: usize| -> Done<u64> { Ok(unsigned(row.get(at.saturating_add(more))?)) };
    Ok(Outcomes { verified: count(0)?, failed: count(1)?, expired: count(2)? })
}

fn sketch(row: &Row<'_>, at: usize) -> Done<Sketch> {
    Sketch::from_bytes(&row.get::<Vec<u8>>(at)?)
        .ok_or_else(|| Failure::failed("a stored latency sketch cannot be read"))
}

/// Hours since 1970.
pub(super) fn hour_of(time: UnixMillis) -> i64 {
    number(time.0.checked_div(HOUR_MS).unwrap_or(0))
}
