//! List and rotate the gateway's signing keys.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::db::{Row, sql};
use crate::failure::Done;
use crate::gateway_keys::rotate;
use crate::types::StoreError;

/// Commands about the gateway's signing keys.
impl OperatorStore {
    /// Creates a new signing key. The previous key continues to sign for sessions that are open
    /// now, and is published until the last of them has expired. Then its private key is erased.
    ///
    /// # Errors
    /// The database or the random number generator failed.
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
    /// The part after `#` in its `kid`.
    pub id: String,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When another key replaced it. `None`: it signs for new sessions.
    pub retired_at: Option<UnixMillis>,
    /// Whether its private key is stored. A retired key that has it signs for sessions that were
    /// created with it.
    pub can_sign: bool,
    /// When it is removed from the discovery documents.
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
