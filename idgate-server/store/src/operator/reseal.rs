//! Replaces one instance key with another.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::types::{Resealed, StoreError};

/// Commands that change the instance key. SQLite has two files, and no gateway may run. PostgreSQL
/// may have running nodes.
impl OperatorStore {
    /// Seals, MACs and signs everything again that is under another key than the one that seals. An
    /// interrupted call can be repeated. Afterwards no other key is required, unless there are
    /// values that none of the given keys opens. Values that expire by `now` are not sealed again.
    ///
    /// # Errors
    /// A gateway uses the data directory, a node seals with another key, or the database failed.
    pub fn reseal(&mut self, now: UnixMillis) -> Result<Resealed, StoreError> {
        match self {
            Self::Sqlite(store) => store.reseal(now),
            Self::Postgres(store) => store.reseal(),
        }
    }

    /// What [`OperatorStore::reseal`] would find. Changes nothing.
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
