//! What the statements have in common: how times and numbers stand in columns, how a write begins,
//! and what a failure of SQLite means.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::failure::Failure;
use super::types::StoreError;

/// A time as the database holds it.
pub(super) fn millis(time: UnixMillis) -> i64 {
    number(time.0)
}

/// A time from the database.
pub(super) fn time(millis: i64) -> UnixMillis {
    UnixMillis(unsigned(millis))
}

/// A number as the database holds it; a bound that it cannot hold is none.
pub(super) fn number(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

/// A number from the database.
pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// How many rows tell whether there are more than `limit`.
pub(super) fn one_more(limit: usize) -> i64 {
    number(limit).saturating_add(1)
}

/// The first `limit` of these rows, and the position of the last of them if there are more.
pub(super) fn page_of<T>(mut rows: Vec<(T, i64)>, limit: usize) -> (Vec<T>, Option<i64>) {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().map(|(_, position)| *position).filter(|_| has_more);
    (rows.into_iter().map(|(row, _)| row).collect(), last)
}

/// Begins a transaction that writes: nobody else writes before it ends.
pub(super) fn begin(conn: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = format!("the database failed: {error}");
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(format!("the database is damaged: {error}"))
            }
            _ if is_passing(&error) => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Whether the machine, and not the file's content, is in the way.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
                | ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::ReadOnly
        )
    )
}
