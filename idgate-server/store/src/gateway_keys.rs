//! The gateway's signing keys. The private key is sealed. A retired key continues to sign for
//! sessions that were created with it, and its private key is erased after the last of them.

use std::sync::Arc;

use idgate_core::UnixMillis;

use super::db::{Db, sql};
use super::failure::Done;
use super::sql::millis;
use super::types::StoreError;
use crate::cache::Numbered;
use crate::gateway_key::{GatewayKey, GatewayKeys, PublishedKey, RetiredKey};
use crate::seal::{Place, Sealer};
use crate::version_numbers::Numbers;

impl Numbered for GatewayKeys {
    fn number(&self) -> u64 {
        self.number
    }
}

/// The seal's place of a private key.
pub(super) const fn place(id: &str) -> Place<'_> {
    Place { purpose: "gateway_keys", object: id, client: "" }
}

/// Creates the first key if there is none. If several nodes start together, the first one creates
/// it.
pub(super) async fn ensure(db: &Db<'_>, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    if Numbers::read(db).await?.gateway_keys == 0 {
        lock(db).await?;
        if Numbers::read(db).await?.gateway_keys == 0 {
            insert(db, sealer, now).await?;
        }
    }
    Ok(())
}

/// All keys, in the transaction's snapshot.
pub(super) async fn read(db: &Db<'_>, sealer: &Sealer) -> Done<GatewayKeys> {
    let number = Numbers::read(db).await?.gateway_keys;
    let sql =
        sql("SELECT id, sec1, sealed, published_until FROM gateway_keys ORDER BY version DESC");
    let stored = db.all(sql, &[], |row| {
        Ok(StoredKey {
            id: row.get(0)?,
            sec1: row.get(1)?,
            sealed: row.get(2)?,
            published_until: row.time_if_any(3)?,
        })
    });
    Ok(assemble(number, stored.await?, sealer)?)
}

/// A key as stored.
struct StoredKey {
    id: String,
    sec1: Vec<u8>,
    /// `None`: it no longer signs.
    sealed: Option<Vec<u8>>,
    /// `None`: it signs for new sessions.
    published_until: Option<UnixMillis>,
}

/// The key that signs for new sessions, and those before it. `stored`: newest first.
fn assemble(
    number: u64,
    stored: Vec<StoredKey>,
    sealer: &Sealer,
) -> Result<GatewayKeys, StoreError> {
    let (mut active, mut retired) = (None, Vec::new());
    for StoredKey { id, sec1, sealed, published_until } in stored {
        let signer = sealed.map(|sealed| open(sealer, &id, &sealed)).transpose()?;
        match published_until {
            None => active = signer,
            Some(published_until) => {
                let key = PublishedKey::new(id, &sec1)?;
                retired.push(RetiredKey { key, signer, published_until });
            }
        }
    }
    let active = active
        .ok_or_else(|| StoreError::Failed("there is no signing key; restart the server".into()))?;
    Ok(GatewayKeys { number, active, retired })
}

fn open(sealer: &Sealer, id: &str, sealed: &[u8]) -> Result<Arc<GatewayKey>, StoreError> {
    let pkcs8 = sealer.open(place(id), sealed)?;
    Ok(Arc::new(GatewayKey::from_pkcs8(&pkcs8)?))
}

/// Adds a new signing key. The previous key continues to sign for sessions that are open now, and
/// for no others.
pub(super) async fn rotate(db: &Db<'_>, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    lock(db).await?;
    let retire = sql("UPDATE gateway_keys SET retired_at = $1, published_until = coalesce( \
                      (SELECT max(expires_at) FROM sessions WHERE settled_at IS NULL \
                      AND expires_at > $1), $1) WHERE retired_at IS NULL");
    db.run(retire, &[&millis(now)]).await?;
    wipe(db, now).await?;
    insert(db, sealer, now).await
}

/// Erases the private keys of retired keys whose last session has ended. Returns how many.
pub(super) async fn wipe(db: &Db<'_>, now: UnixMillis) -> Done<usize> {
    let sql = sql("UPDATE gateway_keys SET sealed = NULL WHERE sealed IS NOT NULL \
                   AND published_until <= $1");
    db.run(sql, &[&millis(now)]).await
}

/// Only one node or command changes keys at a time. Reads are not blocked.
async fn lock(db: &Db<'_>) -> Done<()> {
    db.lock("LOCK TABLE gateway_keys IN SHARE ROW EXCLUSIVE MODE").await
}

async fn insert(db: &Db<'_>, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    let (key, pkcs8) = GatewayKey::generate()?;
    let sealed = sealer.seal(place(key.id()), &pkcs8)?;
    let sql = sql("INSERT INTO gateway_keys (version, id, sec1, sealed, created_at) \
                   VALUES ((SELECT coalesce(max(version), 0) + 1 FROM gateway_keys), $1, $2, $3, $4)");
    db.run(sql, &[&key.id(), &key.public().sec1(), &sealed, &millis(now)]).await.map(drop)
}
