//! The keys of clients.

use idgate_core::time::UnixMillis;

use super::super::interface::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue,
    NewApiKey, PageError, Read, Write,
};
use super::error::{Done, Failure};
use super::{PostgresStore, Shared};

/// Checks key, client, expiry and mode in one indexed read.
pub(super) async fn authenticate(
    _shared: &Shared,
    _digest: &[u8; 32],
    _now: UnixMillis,
) -> Done<Option<Caller>> {
    Err(Failure::failed("to be written"))
}

/// Stores the uses of keys.
pub(super) async fn store_uses(_shared: &Shared, _uses: Vec<(String, UnixMillis)>) -> Done<()> {
    Ok(())
}

impl ApiKeyStore for PostgresStore {
    fn api_keys(&self, _caller: &Caller, _now: UnixMillis) -> Read<'_, Vec<ApiKeyRecord>> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn api_key_page(
        &self,
        _caller: &Caller,
        _cursor: Option<&str>,
        _limit: usize,
        _now: UnixMillis,
    ) -> Read<'_, ApiKeyPage, PageError> {
        Box::pin(async { Err(PageError::Cursor) })
    }

    fn create_api_key(&self, _caller: &Caller, _key: NewApiKey) -> Write<'_, KeyMade> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn revoke_api_key(
        &self,
        _caller: &Caller,
        _id: &str,
        _now: UnixMillis,
    ) -> Write<'_, KeyRevoked> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn rotate_api_key(
        &self,
        _caller: &Caller,
        _id: &str,
        _value: KeyValue,
        _now: UnixMillis,
    ) -> Write<'_, KeyRotated> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }

    fn remove_ended_keys(&self, _before: UnixMillis, _limit: usize) -> Write<'_, usize> {
        self.read(|_| async { Err(Failure::failed("to be written")) })
    }
}
