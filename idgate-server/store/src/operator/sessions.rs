//! Operators' queries about sessions.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::db::{Row, sql};
use crate::failure::Done;
use crate::sql::number;
use crate::types::{StatusEvent, StoreError};
use crate::{events, reports};

/// Queries about sessions.
impl OperatorStore {
    /// The report on the rejected answer to a session of any client. `None`: there is none, or it
    /// is too old.
    ///
    /// # Errors
    /// The database failed, or the report cannot be opened.
    pub fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.read(async |db| reports::find(db, id, None, now).await)?;
        found.map(|sealed| sealed.open(self.sealer())).transpose()
    }

    /// At most `limit` of the newest sessions of all clients.
    ///
    /// # Errors
    /// The database failed, or a session cannot be read.
    pub fn list_sessions(&self, limit: usize) -> Result<Vec<SessionLine>, StoreError> {
        self.read(async |db| {
            let sql =
                sql("SELECT id, client_id, status, reason, created_at, expires_at, formats, \
                           issuer_ids, events FROM sessions ORDER BY created_at DESC, id LIMIT $1");
            db.all(sql, &[&number(limit)], SessionLine::read).await
        })
    }

    /// The session with that id, of any client, with its events in order. `None`: it does not
    /// exist.
    ///
    /// # Errors
    /// The database failed, or the session cannot be read.
    pub fn session(&self, id: &str) -> Result<Option<(SessionLine, Vec<StatusEvent>)>, StoreError> {
        self.read(async |db| {
            let sql =
                sql("SELECT id, client_id, status, reason, created_at, expires_at, formats, \
                           issuer_ids, events FROM sessions WHERE id = $1");
            let read = |row: &Row<'_>| Ok((SessionLine::read(row)?, SessionLine::events(row)?));
            db.one(sql, &[&id], read).await
        })
    }
}

/// A session in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionLine {
    /// `ses_…`
    pub id: String,
    /// The client that owns it.
    pub client_id: String,
    /// The status as in the API.
    pub status: String,
    /// Why it was not verified.
    pub reason: Option<String>,
    /// When it was created.
    pub created_at: UnixMillis,
    /// Until when it may be answered.
    pub expires_at: UnixMillis,
    /// The format of each credential.
    pub formats: Vec<String>,
    /// The trust entry of each credential.
    pub issuer_ids: Vec<String>,
    /// The error that the wallet sent, if any.
    pub wallet_error: Option<String>,
}

impl SessionLine {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            id: row.get(0)?,
            client_id: row.get(1)?,
            status: row.get(2)?,
            reason: row.get(3)?,
            created_at: row.time(4)?,
            expires_at: row.time(5)?,
            formats: texts(&row.get::<String>(6)?)?,
            issuer_ids: texts(&row.get::<String>(7)?)?,
            wallet_error: Self::events(row)?.into_iter().rev().find_map(|event| event.wallet_error),
        })
    }

    fn events(row: &Row<'_>) -> Done<Vec<StatusEvent>> {
        Ok(events::parse(&row.get::<Option<String>>(8)?.unwrap_or_default())?)
    }
}

/// The elements of a column that is a JSON array.
fn texts(json: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Damaged(format!("a session cannot be read: {error}")))
}
