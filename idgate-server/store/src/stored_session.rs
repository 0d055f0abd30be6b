//! A session's row with its sealed record.

use idgate_core::Session;

use crate::db::Row;
use crate::failure::Done;
use crate::seal::{Place, Sealer};
use crate::types::StoreError;

/// The seal's place of a session record.
pub(super) const fn place_of<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "sessions", object: session_id, client: client_id }
}

/// A record, and the columns that identify its session.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) client_id: String,
    pub(super) livemode: bool,
    pub(super) record: Vec<u8>,
}

impl Stored {
    /// From the columns `id`, `client_id`, `livemode` and `record`.
    pub(super) fn read(row: &Row<'_>) -> Done<Self> {
        Self::at(row, 0)
    }

    /// The same for columns that begin at `first`.
    pub(super) fn at(row: &Row<'_>, first: usize) -> Done<Self> {
        let at = |column: usize| first.saturating_add(column);
        let (id, client_id) = (row.get(at(0))?, row.get(at(1))?);
        Ok(Self { id, client_id, livemode: row.get(at(2))?, record: row.get(at(3))? })
    }

    /// The session, if the record belongs to this row and not to another session, client or mode.
    pub(super) fn open(&self, sealer: &Sealer) -> Result<Session, StoreError> {
        let record = sealer.open(place_of(&self.id, &self.client_id), &self.record);
        let record = record.map_err(|error| self.unreadable(&error))?;
        self.parse(&record)
    }

    /// Parses an opened record, if it belongs to this row.
    pub(super) fn parse(&self, record: &[u8]) -> Result<Session, StoreError> {
        let session = Session::from_bytes(record).map_err(|error| self.unreadable(&error))?;
        let same = session.id().as_str() == self.id
            && session.tenant().as_str() == self.client_id
            && session.livemode() == self.livemode;
        same.then_some(session)
            .ok_or_else(|| self.unreadable(&"its row was changed outside idgate"))
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> StoreError {
        StoreError::Damaged(format!("session {} cannot be read: {error}", self.id))
    }
}
