//! The gateway's signing keys, as operators see and rotate them.

use idgate_core::time::UnixMillis;

use super::super::files::truncate_log;
use super::super::gateway_keys::{insert, retire};
use super::super::interface::StoreError;
use super::super::sql::{begin, time};
use super::OperatorStore;

/// A signing key as operators see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GatewayKeyRecord {
    /// What follows `#` in its `kid`.
    pub id: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When another one took its place; `None`: it signs for new sessions.
    pub retired_at: Option<UnixMillis>,
    /// Whether its private half is there: retired, it signs for sessions that were made with it.
    pub can_sign: bool,
    /// When it leaves the discovery documents.
    pub published_until: Option<UnixMillis>,
}

impl OperatorStore {
    /// Makes a new signing key. The one before it signs on for the sessions that are open now, and is
    /// published until the last of them has expired; then its private half is wiped.
    pub fn rotate_gateway_key(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        let transaction = begin(&mut self.main)?;
        retire(&transaction, now)?;
        insert(&transaction, &self.sealer, now)?;
        transaction.commit()?;
        // Wiped in the log as well, unless a reader is in the way: then with the next checkpoint.
        let _later = truncate_log(&self.main);
        Ok(())
    }

    /// All signing keys, newest first.
    pub fn gateway_keys(&self) -> Result<Vec<GatewayKeyRecord>, StoreError> {
        let mut statement = self.main.prepare(
            "SELECT id, created_at, retired_at, published_until, sealed IS NOT NULL FROM gateway_keys \
             ORDER BY version DESC",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(GatewayKeyRecord {
                id: row.get(0)?,
                created_at: time(row.get(1)?),
                retired_at: row.get::<_, Option<i64>>(2)?.map(time),
                published_until: row.get::<_, Option<i64>>(3)?.map(time),
                can_sign: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
