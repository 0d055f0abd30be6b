//! The keys of a client, as the client itself manages them.

use idgate_core::UnixMillis;

use idgate_base::api_key::ApiKey;

/// A key as its client sees it (specification 2).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiKeyRecord {
    /// `key_…`
    pub id: String,
    /// What the client calls it.
    pub name: Option<String>,
    /// `None`: all.
    pub scopes: Option<Vec<String>>,
    /// Whether it is stopped for good.
    pub revoked: bool,
    /// Its mode.
    pub livemode: bool,
    /// When it was made.
    pub created_at: UnixMillis,
    /// From when on it is not good; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The latest successful authentication.
    pub last_used_at: Option<UnixMillis>,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyPage {
    /// Newest first.
    pub keys: Vec<ApiKeyRecord>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// What the client will see of it.
    pub record: ApiKeyRecord,
    /// What is kept of its text.
    pub value: KeyValue,
}

/// What became of a key that was to be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyMade {
    /// It is stored.
    Yes,
    /// The caller's own key is not in force any more.
    CallerGone,
    /// It would live longer than the caller's own key.
    OutlivesCaller,
    /// The client has as many live keys as it may.
    TooMany,
}

/// What became of a key that was to be stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyRevoked {
    /// It is.
    Yes,
    /// This client has none of that id.
    NotFound,
    /// The caller's own key is not in force any more.
    CallerGone,
}

/// What became of a key that was to have another value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeyRotated {
    /// It has, and is this.
    Yes(ApiKeyRecord),
    /// The client has no good key of that id.
    NotFound,
    /// The caller's own key is not in force any more.
    CallerGone,
    /// It has scopes that the caller's own key lacks.
    BeyondScopes,
    /// It lives longer than the caller's own key.
    OutlivesCaller,
}

/// What is kept of a key's text.
#[derive(Clone)]
pub struct KeyValue {
    pub(crate) digest: [u8; 32],
    pub(crate) hint: String,
}

impl KeyValue {
    /// Of this key.
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
