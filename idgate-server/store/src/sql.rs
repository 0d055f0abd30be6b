//! How times and numbers are stored, and how lists are divided into pages.

use idgate_core::UnixMillis;

/// A time as the database holds it.
pub(super) fn millis(time: UnixMillis) -> i64 {
    number(time.0)
}

/// A time from the database.
pub(super) fn time(millis: i64) -> UnixMillis {
    UnixMillis(unsigned(millis))
}

/// A number as the database holds it. A bound that does not fit counts as no bound.
pub(super) fn number(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

/// A number from the database.
pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// How many rows to read to know whether there are more than `limit`.
pub(super) fn one_more(limit: usize) -> i64 {
    number(limit).saturating_add(1)
}

/// The first `limit` of these rows, and the position of the last one if there are more.
pub(super) fn page_of<T>(mut rows: Vec<(T, i64)>, limit: usize) -> (Vec<T>, Option<i64>) {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().map(|(_, position)| *position).filter(|_| has_more);
    (rows.into_iter().map(|(row, _)| row).collect(), last)
}
