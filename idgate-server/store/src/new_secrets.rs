//! Creates ids, keys and secrets before they are stored in either database.

use idgate_core::shell::random_id;
use idgate_core::{EntropyUnavailable, UnixMillis};

use crate::keys::{NewClient, secret_place};
use crate::seal::Sealer;
use crate::types::{ApiKeyRecord, StoreError};
use idgate_base::admin_token::AdminToken;
use idgate_base::api_key::{ApiKey, signing_secret};
use idgate_base::entropy::OsEntropy;

/// An admin token and its id.
pub(super) fn admin_token() -> Result<(String, AdminToken), StoreError> {
    let id = random_id("adt_", &mut OsEntropy).map_err(exhausted)?;
    let token = AdminToken::generate(&mut OsEntropy).map_err(exhausted)?;
    Ok((id, token))
}

/// A client with its first key, and its signing secret in sealed form.
pub(super) fn client(livemode: bool, sealer: &Sealer) -> Result<(NewClient, Vec<u8>), StoreError> {
    let client_id = random_id("cli_", &mut OsEntropy).map_err(exhausted)?;
    let key_id = random_id("key_", &mut OsEntropy).map_err(exhausted)?;
    let api_key = ApiKey::generate(livemode, &mut OsEntropy).map_err(exhausted)?;
    let signing_secret = signing_secret(&mut OsEntropy).map_err(exhausted)?;
    let sealed = sealer.seal(secret_place(&client_id), signing_secret.as_bytes())?;
    Ok((NewClient { client_id, livemode, key_id, api_key, signing_secret }, sealed))
}

/// A key that does not expire.
pub(super) fn api_key(
    livemode: bool,
    name: Option<&str>,
    scopes: Option<&[String]>,
    now: UnixMillis,
) -> Result<(ApiKeyRecord, ApiKey), StoreError> {
    let key = ApiKey::generate(livemode, &mut OsEntropy).map_err(exhausted)?;
    let record = ApiKeyRecord {
        id: random_id("key_", &mut OsEntropy).map_err(exhausted)?,
        name: name.map(str::to_owned),
        scopes: scopes.map(<[String]>::to_vec),
        revoked: false,
        livemode,
        created_at: now,
        expires_at: None,
        last_used_at: None,
    };
    Ok((record, key))
}

fn exhausted(error: EntropyUnavailable) -> StoreError {
    StoreError::Failed(error.to_string())
}
