//! What an operator asks about sessions.

use idgate_core::time::UnixMillis;

use crate::store::interface::StoreError;
use crate::store::sql::time;
use crate::store::statement::Columns;

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
    /// The newest ones, at most so many, as [`SessionLine::read`] reads them.
    pub(in crate::store) const NEWEST: &str = "SELECT id, client_id, status, reason, created_at, \
         expires_at, formats, issuer_ids FROM sessions ORDER BY created_at DESC, id LIMIT $1";

    pub(in crate::store) fn read<R: Columns, E>(row: &R) -> Result<Self, E>
    where
        E: From<R::Error> + From<StoreError>,
    {
        Ok(Self {
            id: row.column(0)?,
            client_id: row.column(1)?,
            status: row.column(2)?,
            reason: row.column(3)?,
            created_at: time(row.column(4)?),
            expires_at: time(row.column(5)?),
            formats: texts(&row.column::<String>(6)?)?,
            issuer_ids: texts(&row.column::<String>(7)?)?,
        })
    }
}

/// The elements of a column that is a JSON array.
fn texts(json: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Damaged(format!("a session cannot be read: {error}")))
}
