//! Sessions in memory, as a table of a database would hold them: the revision in the open for the
//! compare-and-set, the session as its snapshot, the claims apart. A database gets the snapshot sealed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idgate_core::session::SessionResult;
use idgate_core::{Revision, Session, Transition};

/// Sessions by id.
#[derive(Debug, Default)]
pub struct Store(Mutex<HashMap<String, Row>>);

#[derive(Debug)]
struct Row {
    revision: Revision,
    snapshot: Vec<u8>,
    result: Option<SessionResult>,
}

impl Store {
    /// Stores the transition where the revision still is the one that it was made from. `false`: a
    /// lost race, and nothing is stored.
    #[must_use]
    pub fn commit(&self, transition: Transition) -> bool {
        let mut session = transition.session;
        let result = session.take_result();
        let row =
            Row { revision: session.revision(), snapshot: session.to_bytes().to_vec(), result };
        let mut rows = self.rows();
        let stored = rows.get(session.id().as_str()).map_or(Revision(0), |row| row.revision);
        if stored != transition.from {
            return false;
        }
        rows.insert(session.id().to_string(), row);
        true
    }

    /// The session of that id with its claims, as long as they are there.
    pub fn load(&self, id: &str) -> Option<Session> {
        let rows = self.rows();
        let row = rows.get(id)?;
        let mut session = Session::from_bytes(&row.snapshot).ok()?;
        if let Some(result) = row.result.clone() {
            session.restore_result(result);
        }
        Some(session)
    }

    /// Erases the claims.
    pub fn redact(&self, id: &str) {
        if let Some(row) = self.rows().get_mut(id) {
            row.result = None;
        }
    }

    /// Deletes the session.
    pub fn forget(&self, id: &str) {
        self.rows().remove(id);
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<String, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
