//! What an operator asks about sessions.

use idgate_core::time::UnixMillis;

use crate::store::interface::StoreError;

/// What the operator does with sessions.
pub trait SessionOperator {
    /// The report on the answer to a session that was refused, whosever it is; `None`: there is none,
    /// or it is too old.
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError>;

    /// The newest sessions, whosever they are, at most `limit`.
    fn list_sessions(&self, limit: usize) -> Result<Vec<SessionLine>, StoreError>;
}

/// A session in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionLine {
    /// `ses_…`
    pub id: String,
    /// Whose it is.
    pub client_id: String,
    /// As the API has it.
    pub status: String,
    /// Why it is not verified.
    pub reason: Option<String>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// Until when it may be answered.
    pub expires_at: UnixMillis,
    /// The format of each credential.
    pub formats: Vec<String>,
    /// The trust entry of each credential.
    pub issuer_ids: Vec<String>,
}

impl SessionLine {
    /// The elements of a column that is a JSON array.
    pub(in crate::store) fn texts(json: &str) -> Result<Vec<String>, StoreError> {
        serde_json::from_str(json)
            .map_err(|error| StoreError::Damaged(format!("a session cannot be read: {error}")))
    }
}
