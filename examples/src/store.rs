//! Sessions in memory, like a database table: the revision in plain text for the compare-and-set, the session as
//! bytes, and the claims in a separate place. Encrypt the bytes for a real database.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idgate::{Committed, Store};
use idgate_core::limits::CLAIMS_RETENTION_MS;
use idgate_core::session::{SessionResult, SnapshotError};
use idgate_core::{Effect, Revision, Session, Transition, UnixMillis};

use crate::now;

/// The sessions of one process.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    rows: HashMap<String, Row>,
    /// The id of the session for each handle of its offers.
    ids: HashMap<String, String>,
}

#[derive(Debug)]
struct Row {
    revision: Revision,
    session: Vec<u8>,
    result: Option<SessionResult>,
}

impl Store for Memory {
    type Error = SnapshotError;

    fn load(
        &self,
        handle: &str,
    ) -> impl Future<Output = Result<Option<Session>, SnapshotError>> + Send {
        ready(self.read(handle))
    }

    fn commit(
        &self,
        transition: &Transition,
    ) -> impl Future<Output = Result<Committed, SnapshotError>> + Send {
        ready(Ok(self.write(transition)))
    }
}

impl Memory {
    fn read(&self, handle: &str) -> Result<Option<Session>, SnapshotError> {
        let table = self.table();
        let row = table.ids.get(handle).and_then(|id| table.rows.get(id));
        let Some(row) = row else { return Ok(None) };
        let mut session = Session::from_bytes(&row.session)?;
        if let Some(result) = row.result.clone() {
            session.restore_result(result);
        }
        Ok(Some(session))
    }

    fn write(&self, transition: &Transition) -> Committed {
        let mut session = transition.session.clone();
        let (id, result) = (session.id().to_string(), session.take_result());
        let mut table = self.table();
        let stored = table.rows.get(&id).map_or(Revision(0), |row| row.revision);
        if stored != transition.from {
            return Committed::LostRace;
        }
        let row =
            Row { revision: session.revision(), session: session.to_bytes().to_vec(), result };
        table.ids.extend(session.handles().map(|handle| (handle.to_owned(), id.clone())));
        table.rows.insert(id.clone(), row);
        for effect in &transition.effects {
            match effect {
                Effect::RedactClaimsAt(at) => self.at(*at, &id, Table::redact),
                Effect::ExpireAt(at) => self.at(at.plus(CLAIMS_RETENTION_MS), &id, Table::forget),
                _ => {} // a status change, for your own events
            }
        }
        Committed::Stored
    }

    fn at(&self, at: UnixMillis, id: &str, act: fn(&mut Table, &str)) {
        let (memory, id) = (self.clone(), id.to_owned());
        let wait = Duration::from_millis(at.since(now()));
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            act(&mut memory.table(), &id);
        });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Erases the claims.
    fn redact(&mut self, id: &str) {
        if let Some(row) = self.rows.get_mut(id) {
            row.result = None;
        }
    }

    /// Deletes the session.
    fn forget(&mut self, id: &str) {
        let row = self.rows.remove(id);
        let session = row.and_then(|row| Session::from_bytes(&row.session).ok());
        for handle in session.iter().flat_map(Session::handles) {
            self.ids.remove(handle);
        }
    }
}
