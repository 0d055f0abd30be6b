//! What `idgate listen` asks: whose key it was given, and what happened to that client's sessions.

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use crate::audit::AuditEntry;
use crate::store::interface::StoreError;

/// What the operator does to follow one client.
pub trait ListeningOperator {
    /// The owner of the API key with this digest, while it is good at `now`; `None`: it is not.
    fn listener(&self, digest: &[u8; 32], now: UnixMillis) -> Result<Option<Listener>, StoreError>;

    /// The number of the last entry of this client's audit chain; 0: there is none.
    fn last_entry(&self, client_id: &str) -> Result<u64, StoreError>;

    /// The entries behind the one with that number, oldest first, at most `limit`.
    fn entries_after(
        &self,
        client_id: &str,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;
}

/// A client that is followed.
#[derive(Debug)]
pub struct Listener {
    /// The client.
    pub client_id: String,
    /// The mode of client and key.
    pub livemode: bool,
    /// What signs its notifications: of its endpoint, or the one that it was made with.
    pub secret: SigningSecret,
    /// Replaced less than a day ago.
    pub previous: Option<SigningSecret>,
}

impl Listener {
    /// An entry of this client's chain from its canonical JSON.
    pub(in crate::store) fn entry(client_id: &str, fields: &str) -> Result<AuditEntry, StoreError> {
        serde_json::from_str(fields).map_err(|error| {
            StoreError::Damaged(format!("an audit entry of {client_id} cannot be read: {error}"))
        })
    }
}
