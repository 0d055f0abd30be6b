//! Begins write transactions, and classifies SQLite's errors.

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::failure::Failure;
use crate::types::StoreError;

/// Begins a write transaction. No other one can write before it ends.
pub(crate) fn begin(conn: &mut Connection) -> Result<Transaction<'_>, StoreError> {
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

/// Whether the machine is the cause, not the file's content.
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
