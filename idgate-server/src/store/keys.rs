//! Clients and their API keys.

use std::fmt;

use idgate_core::ids::TenantId;
use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::json;
use zeroize::Zeroizing;

use super::api_keys::power::scopes as scopes_of;
use super::fresh;
use super::interface::{Caller, StoreError};
use super::sql::{millis, time, unsigned};
use crate::api_key::ApiKey;
use crate::clock::Moment;
use crate::seal::{Place, Sealer};

/// A client as operators see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientRecord {
    /// `cli_…`
    pub id: String,
    /// The operator's name for it.
    pub name: String,
    /// Its mode, for good.
    pub livemode: bool,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When all its keys stopped.
    pub revoked_at: Option<UnixMillis>,
    /// How many keys it has that are not revoked.
    pub keys: u64,
}

/// A client just made: the only moment at which its secrets are readable.
pub struct NewClient {
    /// `cli_…`
    pub client_id: String,
    /// Its mode.
    pub livemode: bool,
    /// The id of its first API key.
    pub key_id: String,
    /// Its first API key.
    pub api_key: ApiKey,
    /// What its webhooks are signed with.
    pub signing_secret: Zeroizing<String>,
}

impl fmt::Debug for NewClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewClient({})", self.client_id)
    }
}

/// What an operator says about a new client.
pub(super) struct ClientWish<'a> {
    pub(super) name: &'a str,
    pub(super) livemode: bool,
    /// `None`: all.
    pub(super) scopes: Option<&'a [String]>,
}

pub(super) fn create_client(
    main: &Connection,
    sealer: &Sealer,
    wish: &ClientWish<'_>,
    now: UnixMillis,
) -> Result<NewClient, StoreError> {
    let (client, sealed) = fresh::client(wish.livemode, sealer)?;
    main.execute(
        "INSERT INTO clients (id, name, livemode, signing_secret, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
        (&client.client_id, wish.name, client.livemode, sealed, millis(now)),
    )?;
    main.execute(
        "INSERT INTO api_keys (id, client_id, digest, hint, scopes, livemode, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            &client.key_id,
            &client.client_id,
            client.api_key.digest(),
            client.api_key.hint(),
            wish.scopes.map(|scopes| json!(scopes).to_string()),
            client.livemode,
            millis(now),
        ),
    )?;
    Ok(client)
}

/// Where the secret stands that a client was made with.
pub(super) const fn secret_place(client_id: &str) -> Place<'_> {
    Place { purpose: "clients", object: client_id, client: client_id }
}

/// All clients, newest first.
pub(super) fn clients(main: &Connection) -> Result<Vec<ClientRecord>, StoreError> {
    let mut statement = main.prepare(
        "SELECT id, name, livemode, created_at, revoked_at, (SELECT count(*) FROM api_keys \
         WHERE client_id = clients.id AND api_keys.revoked_at IS NULL) \
         FROM clients ORDER BY created_at DESC, rowid DESC",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(ClientRecord {
            id: row.get(0)?,
            name: row.get(1)?,
            livemode: row.get(2)?,
            created_at: time(row.get(3)?),
            revoked_at: row.get::<_, Option<i64>>(4)?.map(time),
            keys: unsigned(row.get(5)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What stopped with a client.
pub(super) struct Revoked {
    /// The client was not revoked before.
    pub(super) is_new: bool,
    /// The keys that were not.
    pub(super) keys: Vec<String>,
    /// How many sessions are open, which end with it.
    pub(super) open_sessions: u64,
}

/// Stops every key of a client and says which they were; `None`: there is no such client. Doing it
/// again changes nothing.
pub(super) fn revoke_client(
    main: &Connection,
    id: &str,
    now: UnixMillis,
) -> Result<Option<Revoked>, StoreError> {
    if !main.prepare("SELECT 1 FROM clients WHERE id = ?1")?.exists([id])? {
        return Ok(None);
    }
    let open = main
        .prepare("SELECT count FROM open_sessions WHERE client_id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let revoked = main.execute(
        "UPDATE clients SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
        (id, millis(now)),
    )?;
    let keys = main
        .prepare(
            "UPDATE api_keys SET revoked_at = ?2 WHERE client_id = ?1 AND revoked_at IS NULL \
             RETURNING id",
        )?
        .query_map((id, millis(now)), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let open_sessions = unsigned(open.unwrap_or(0));
    Ok(Some(Revoked { is_new: revoked > 0, keys, open_sessions }))
}

/// The owner of the key with this digest, and when the key was last used as far as stored.
pub(super) fn authenticate(
    main: &Connection,
    digest: &[u8; 32],
    since: Moment,
    now: UnixMillis,
) -> Result<Option<(Caller, Option<UnixMillis>)>, StoreError> {
    let row = main
        .prepare_cached(
            "SELECT k.id, k.client_id, k.livemode, k.scopes, k.last_used_at \
             FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
             WHERE k.digest = ?1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
             AND (k.expires_at IS NULL OR k.expires_at > ?2) AND k.livemode = c.livemode",
        )?
        .query_row((digest, millis(now)), |row| {
            let caller = Caller {
                key_id: row.get(0)?,
                digest: *digest,
                client_id: TenantId::new(row.get::<_, String>(1)?),
                livemode: row.get(2)?,
                scopes: None,
                since,
            };
            let last_used = row.get::<_, Option<i64>>(4)?.map(time);
            Ok((caller, row.get::<_, Option<String>>(3)?, last_used))
        })
        .optional()?;
    let Some((mut caller, scopes, last_used)) = row else { return Ok(None) };
    caller.scopes = scopes_of(&caller.key_id, scopes)?;
    Ok(Some((caller, last_used)))
}

/// The id of the admin token with this digest, unless it is revoked.
pub(super) fn admin(main: &Connection, digest: &[u8; 32]) -> Result<Option<String>, StoreError> {
    Ok(main
        .prepare_cached("SELECT id FROM admin_tokens WHERE digest = ?1 AND revoked_at IS NULL")?
        .query_row([digest], |row| row.get(0))
        .optional()?)
}

/// A key that opens something.
pub(super) struct InForce {
    pub(super) expires_at: Option<UnixMillis>,
}

/// The key that opened a request, in the transaction of what was asked for: a body takes its time to
/// arrive. `None`: since then it was rotated or revoked or it expired, or its client was revoked.
pub(super) fn in_force(
    main: &Connection,
    caller: &Caller,
    now: UnixMillis,
) -> Result<Option<InForce>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT k.expires_at FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
             WHERE k.id = ?1 AND k.digest = ?2 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
             AND (k.expires_at IS NULL OR k.expires_at > ?3)",
        )?
        .query_row((&caller.key_id, caller.digest, millis(now)), |row| {
            Ok(InForce { expires_at: row.get::<_, Option<i64>>(0)?.map(time) })
        })
        .optional()?)
}

/// Notes the use of a key; it never moves backwards.
pub(super) fn touch(main: &Connection, key_id: &str, now: UnixMillis) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE api_keys SET last_used_at = ?2 \
         WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
    )?
    .execute((key_id, millis(now)))?;
    Ok(())
}

/// The origins of a client's own pages, in alphabetical order.
pub(super) fn origins(main: &Connection, client_id: &str) -> Result<Vec<String>, StoreError> {
    let mut found = main
        .prepare_cached("SELECT origin FROM client_origins WHERE client_id = ?1 ORDER BY origin")?;
    let origins = found.query_map([client_id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(origins)
}
