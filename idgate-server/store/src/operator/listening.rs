//! Queries of `idgate listen`: the owner of an API key, and new audit entries of that client.

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

use super::OperatorStore;
use crate::audit_chain::AuditEntry;
use crate::db::{Row, sql};
use crate::sql::{millis, number, unsigned};
use crate::types::StoreError;
use crate::webhook_endpoints::{destination, provisioned};

/// Queries about one client.
impl OperatorStore {
    /// The owner of the API key with this digest, if the key is active at `now`.
    ///
    /// # Errors
    /// The database failed.
    pub fn listener(
        &self,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Listener>, StoreError> {
        let sealer = self.sealer();
        self.read(async |db| {
            let owner = sql("SELECT k.client_id, k.livemode \
                             FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
                             WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
                             AND (k.expires_at IS NULL OR k.expires_at > $2) \
                             AND k.livemode = c.livemode");
            let read = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get(1)?));
            let found = db.one(owner, &[&digest.as_slice(), &millis(now)], read).await?;
            let Some((client_id, livemode)) = found else { return Ok(None) };
            let to = destination(db, sealer, &client_id, now).await?;
            let (secret, previous) = match to {
                Some(to) => (to.secret, to.previous),
                None => (provisioned(db, sealer, &client_id).await?, None),
            };
            Ok(Some(Listener { client_id, livemode, secret, previous }))
        })
    }

    /// The number of the last entry of this client's audit chain. 0: no entries.
    ///
    /// # Errors
    /// The database failed.
    pub fn last_entry(&self, client_id: &str) -> Result<u64, StoreError> {
        let last = self.read(async |db| {
            let sql = sql("SELECT coalesce(max(seq), 0) FROM audit_entries WHERE client_id = $1");
            db.one(sql, &[&client_id], |row| row.get(0)).await
        })?;
        Ok(last.map_or(0, unsigned))
    }

    /// At most `limit` entries after the one with that number, oldest first.
    ///
    /// # Errors
    /// The database failed, or an entry cannot be parsed.
    pub fn entries_after(
        &self,
        client_id: &str,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(async |db| {
            let sql = sql("SELECT fields FROM audit_entries WHERE client_id = $1 AND seq > $2 \
                           ORDER BY seq LIMIT $3");
            let read = |row: &Row<'_>| Ok(Listener::entry(client_id, &row.get::<String>(0)?)?);
            db.all(sql, &[&client_id, &number(seq), &number(limit)], read).await
        })
    }
}

/// A client that `idgate listen` follows.
#[derive(Debug)]
pub struct Listener {
    /// The client.
    pub client_id: String,
    /// The mode of client and key.
    pub livemode: bool,
    /// The secret that signs its notifications: that of its endpoint, or the one that the client
    /// was created with.
    pub secret: SigningSecret,
    /// The previous secret, if it was replaced less than a day ago.
    pub previous: Option<SigningSecret>,
}

impl Listener {
    /// Parses an entry of this client's chain from its canonical JSON.
    fn entry(client_id: &str, fields: &str) -> Result<AuditEntry, StoreError> {
        serde_json::from_str(fields).map_err(|error| {
            StoreError::Damaged(format!("an audit entry of {client_id} cannot be read: {error}"))
        })
    }
}
