//! What an operator asks about sessions.

use idgate_core::time::UnixMillis;

use crate::store::interface::StoreError;

/// What the operator does with sessions.
pub trait SessionOperator {
    /// The report on the answer to a session that was refused, whosever it is; `None`: there is none,
    /// or it is too old.
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError>;
}
