//! Putting one instance key in the place of another.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::types::{Resealed, StoreError};

/// Commands that change the instance key. SQLite has two files and no gateway that runs meanwhile,
/// PostgreSQL has nodes that go on.
impl OperatorStore {
    /// Seals, MACs and signs under the key that seals what was under another one. Ended on the way, it
    /// can be called again. When it is done, no other key is asked for any more, unless there are values
    /// that none of the given ones opens. What is to be erased at `now` is not sealed anew.
    ///
    /// # Errors
    /// A gateway uses the data directory, a node seals with another key, or the database failed.
    pub fn reseal(&mut self, now: UnixMillis) -> Result<Resealed, StoreError> {
        match self {
            Self::Sqlite(store) => store.reseal(now),
            Self::Postgres(store) => store.reseal(),
        }
    }

    /// What [`OperatorStore::reseal`] would find; nothing is changed.
    ///
    /// # Errors
    /// The database failed.
    pub fn sealed(&self) -> Result<Resealed, StoreError> {
        match self {
            Self::Sqlite(store) => store.sealed(),
            Self::Postgres(store) => store.sealed(),
        }
    }
}
