//! What the operator does with one client: its keys, its quotas, how it is shown to people, and the
//! origins that its own pages have.

use idgate_core::time::UnixMillis;

use crate::api_key::ApiKey;
use crate::store::interface::{ApiKeyRecord, StoreError};
use crate::store::keys::{ClientRecord, NewClient};
use crate::store::quotas::OwnQuotas;

/// What the operator does with clients.
pub trait ClientOperator {
    /// Makes a client with one key. `scopes`: `None` means all.
    fn create_client(
        &mut self,
        name: &str,
        livemode: bool,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<NewClient, StoreError>;

    /// All clients, newest first.
    fn clients(&self) -> Result<Vec<ClientRecord>, StoreError>;

    /// Stops every key of a client at once, ends its certificate and erases the keys that wait for
    /// one, and what a registrar attests of it; `false`: there is no such client.
    ///
    /// # Errors
    /// The database failed; or the keys are stopped, as the text says then, and only their audit log
    /// was altered, so that nothing can be added to it: that must not keep a key alive.
    fn revoke_client(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError>;

    /// Makes one more key of a client, however many it has. `scopes`: `None` means all. `None`:
    /// there is no such client, or it is revoked.
    fn create_key(
        &mut self,
        client_id: &str,
        name: Option<&str>,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<Option<(ApiKeyRecord, ApiKey)>, StoreError>;

    /// All keys of a client, newest first; `None`: there is no such client.
    fn client_keys(&self, client_id: &str) -> Result<Option<Vec<ApiKeyRecord>>, StoreError>;

    /// Stops a key at once, of this client if one is named; `false`: there is none. Doing it again
    /// changes nothing.
    ///
    /// # Errors
    /// The database failed; or the key is stopped, as the text says then, and only the audit log
    /// was altered: that must not keep a key alive.
    fn revoke_key(
        &mut self,
        client_id: Option<&str>,
        id: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError>;

    /// Changes a client; `false`: there is none of that id.
    fn set_client(&mut self, id: &str, change: &ClientChange) -> Result<bool, StoreError>;

    /// What was set for a client; `None`: there is none of that id.
    fn client_settings(&self, id: &str) -> Result<Option<ClientSettings>, StoreError>;

    /// Adds an origin of a client's own pages; `false`: it has it already. The client must exist.
    fn add_origin(
        &mut self,
        client_id: &str,
        origin: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError>;

    /// Removes it; `false`: the client does not have it.
    fn remove_origin(&mut self, client_id: &str, origin: &str) -> Result<bool, StoreError>;
}

/// A picture that is shown to people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Logo {
    /// Its media type.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// What is to be changed of a client; `None`: stays.
#[derive(Clone, Debug, Default)]
pub struct ClientChange {
    /// What it is called.
    pub name: Option<String>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// How many live keys it may have; `Some(None)`: the usual number.
    pub max_keys: Option<Option<u64>>,
    /// How many open sessions it may have; `Some(None)`: the usual number.
    pub max_open_sessions: Option<Option<u64>>,
}

/// What the operator set for a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientSettings {
    /// What it is called.
    pub name: String,
    /// The media type of its logo.
    pub logo_type: Option<String>,
    /// Its own quotas.
    pub quotas: OwnQuotas,
    /// The origins of its own pages, in alphabetical order.
    pub origins: Vec<String>,
}
