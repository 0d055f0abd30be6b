//! The gateway's signing keys, as operators see and rotate them.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::db::{Row, sql};
use crate::failure::Done;
use crate::gateway_keys::rotate;
use crate::types::StoreError;

/// Commands about the gateway's signing keys.
impl OperatorStore {
    /// Makes a new signing key. The one before it signs on for the sessions that are open now, and is
    /// published until the last of them has expired; then its private half is wiped.
    ///
    /// # Errors
    /// The database failed, or there is no randomness.
    pub fn rotate_gateway_key(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        let sealer = self.sealer();
        self.change(async |db| rotate(db, sealer, now).await)?;
        self.cut_log();
        Ok(())
    }

    /// All signing keys, newest first.
    ///
    /// # Errors
    /// The database failed.
    pub fn gateway_keys(&self) -> Result<Vec<GatewayKeyRecord>, StoreError> {
        self.read(async |db| {
            let sql =
                sql("SELECT id, created_at, retired_at, published_until, sealed IS NOT NULL \
                           FROM gateway_keys ORDER BY version DESC");
            db.all(sql, &[], GatewayKeyRecord::read).await
        })
    }
}

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

impl GatewayKeyRecord {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            id: row.get(0)?,
            created_at: row.time(1)?,
            retired_at: row.time_if_any(2)?,
            published_until: row.time_if_any(3)?,
            can_sign: row.get(4)?,
        })
    }
}
