//! Clients and their API keys.

use std::fmt;

use idgate_core::UnixMillis;
use zeroize::Zeroizing;

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::millis;
use super::types::Caller;
use crate::seal::Place;
use idgate_base::api_key::ApiKey;

/// A client as operators see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientRecord {
    /// `cli_…`
    pub id: String,
    /// The operator's name for it.
    pub name: String,
    /// Its mode, which never changes.
    pub livemode: bool,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When the client was revoked with all its keys.
    pub revoked_at: Option<UnixMillis>,
    /// The number of its keys that are not revoked.
    pub keys: u64,
}

/// A new client. Its secrets are readable only now.
pub struct NewClient {
    /// `cli_…`
    pub client_id: String,
    /// Its mode.
    pub livemode: bool,
    /// The id of its first API key.
    pub key_id: String,
    /// Its first API key.
    pub api_key: ApiKey,
    /// The secret that signs its webhooks.
    pub signing_secret: Zeroizing<String>,
}

impl fmt::Debug for NewClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewClient({})", self.client_id)
    }
}

/// The seal's place of the secret that a client was created with.
pub(super) const fn secret_place(client_id: &str) -> Place<'_> {
    Place { purpose: "clients", object: client_id, client: client_id }
}

/// The id of the admin token with this digest, unless it is revoked.
pub(super) async fn admin(db: &Db<'_>, digest: &[u8; 32]) -> Done<Option<String>> {
    let sql = sql("SELECT id FROM admin_tokens WHERE digest = $1 AND revoked_at IS NULL");
    db.one(sql, &[&digest.as_slice()], |row| row.get(0)).await
}

/// A key that is active.
pub(super) struct InForce {
    pub(super) expires_at: Option<UnixMillis>,
}

/// The key that authenticated a request, checked again in the transaction of that request, because
/// its body takes time to arrive. `None`: the key has been rotated, revoked or has expired since,
/// or its client was revoked.
pub(super) async fn in_force(
    db: &Db<'_>,
    caller: &Caller,
    now: UnixMillis,
) -> Done<Option<InForce>> {
    let sql =
        sql("SELECT k.expires_at FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
                   WHERE k.id = $1 AND k.digest = $2 AND k.revoked_at IS NULL \
                   AND c.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $3)");
    let read = |row: &Row<'_>| Ok(InForce { expires_at: row.time_if_any(0)? });
    db.one(sql, &[&caller.key_id, &caller.digest.as_slice(), &millis(now)], read).await
}

/// The origins of a client's own pages, in alphabetical order.
pub(super) async fn origins(db: &Db<'_>, client_id: &str) -> Done<Vec<String>> {
    let sql = sql("SELECT origin FROM client_origins WHERE client_id = $1 ORDER BY origin");
    db.all(sql, &[&client_id], |row| row.get(0)).await
}
