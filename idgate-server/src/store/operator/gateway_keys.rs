//! The gateway's signing keys, as operators see and rotate them.

use idgate_core::time::UnixMillis;

use crate::store::interface::StoreError;

/// What the operator does with the gateway's signing keys.
pub trait GatewayKeyOperator {
    /// Makes a new signing key. The one before it signs on for the sessions that are open now, and is
    /// published until the last of them has expired; then its private half is wiped.
    fn rotate_gateway_key(&mut self, now: UnixMillis) -> Result<(), StoreError>;

    /// All signing keys, newest first.
    fn gateway_keys(&self) -> Result<Vec<GatewayKeyRecord>, StoreError>;
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
