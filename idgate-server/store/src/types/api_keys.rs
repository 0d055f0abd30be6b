//! The keys of a client, as the client itself manages them.

use idgate_core::UnixMillis;

use idgate_base::api_key::ApiKey;

/// A key as its client sees it (specification 2).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiKeyRecord {
    /// `key_…`
    pub id: String,
    /// The client's name for it.
    pub name: Option<String>,
    /// `None`: all scopes.
    pub scopes: Option<Vec<String>>,
    /// Whether it is permanently revoked.
    pub revoked: bool,
    /// Its mode.
    pub livemode: bool,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When it expires. `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The latest successful authentication.
    pub last_used_at: Option<UnixMillis>,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyPage {
    /// Newest first.
    pub keys: Vec<ApiKeyRecord>,
    /// The cursor for the next page. `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// The record that the client will see.
    pub record: ApiKeyRecord,
    /// The stored form of its value.
    pub value: KeyValue,
}

/// The outcome of creating a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyMade {
    /// It is stored.
    Yes,
    /// The caller's own key is no longer active.
    CallerGone,
    /// It would expire later than the caller's own key.
    OutlivesCaller,
    /// The client has reached its limit of active keys.
    TooMany,
}

/// The outcome of revoking a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyRevoked {
    /// It is revoked.
    Yes,
    /// This client has no key with that id.
    NotFound,
    /// The caller's own key is no longer active.
    CallerGone,
}

/// The outcome of rotating a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeyRotated {
    /// It has a new value; this is its record.
    Yes(ApiKeyRecord),
    /// The client has no active key with that id.
    NotFound,
    /// The caller's own key is no longer active.
    CallerGone,
    /// It has scopes that the caller's own key lacks.
    BeyondScopes,
    /// It expires later than the caller's own key.
    OutlivesCaller,
}

/// The stored form of a key's value.
#[derive(Clone)]
pub struct KeyValue {
    pub(crate) digest: [u8; 32],
    pub(crate) hint: String,
}

impl KeyValue {
    /// The stored form of this key.
    pub fn of(key: &ApiKey) -> Self {
        Self { digest: key.digest(), hint: key.hint().to_owned() }
    }

    /// Its SHA-256.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl std::fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyValue(***)")
    }
}
