//! The gateway's signing keys. The private half is sealed. A key that retires signs on for the sessions
//! that were made with it, and its private half is wiped behind the last of them.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::held::Numbered;
use super::interface::StoreError;
use super::numbers::Numbers;
use super::sql::{begin, millis, time};
use crate::gateway_key::{GatewayKey, GatewayKeys, PublishedKey, RetiredKey};
use crate::seal::{Place, Sealer};

impl Numbered for GatewayKeys {
    fn number(&self) -> u64 {
        self.number
    }
}

/// Where the private half of a key stands.
pub(super) const fn place(id: &str) -> Place<'_> {
    Place { purpose: "gateway_keys", object: id, client: "" }
}

/// Makes the first key when there is none.
pub(super) fn ensure(
    main: &mut Connection,
    sealer: &Sealer,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let transaction = begin(main)?;
    if Numbers::read(&transaction)?.gateway_keys == 0 {
        insert(&transaction, sealer, now)?;
    }
    Ok(transaction.commit()?)
}

pub(super) fn read(main: &Connection, sealer: &Sealer) -> Result<GatewayKeys, StoreError> {
    // One moment, so that a rotation in between does not show.
    let moment = main.unchecked_transaction()?;
    let number = Numbers::read(&moment)?.gateway_keys;
    let stored = stored(&moment)?;
    moment.finish()?;
    assemble(number, stored, sealer)
}

/// A key as it is stored.
pub(super) struct StoredKey {
    pub(super) id: String,
    pub(super) sec1: Vec<u8>,
    /// `None`: it signs for nobody any more.
    pub(super) sealed: Option<Vec<u8>>,
    /// `None`: it signs for new sessions.
    pub(super) published_until: Option<UnixMillis>,
}

/// The key that signs for new sessions, and those before it. `stored`: newest first.
pub(super) fn assemble(
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

/// Newest first.
fn stored(main: &Connection) -> Result<Vec<StoredKey>, StoreError> {
    let mut statement = main.prepare(
        "SELECT id, sec1, sealed, published_until FROM gateway_keys ORDER BY version DESC",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(StoredKey {
            id: row.get(0)?,
            sec1: row.get(1)?,
            sealed: row.get(2)?,
            published_until: row.get::<_, Option<i64>>(3)?.map(time),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn open(sealer: &Sealer, id: &str, sealed: &[u8]) -> Result<Arc<GatewayKey>, StoreError> {
    let pkcs8 = sealer.open(place(id), sealed)?;
    Ok(Arc::new(GatewayKey::from_pkcs8(&pkcs8)?))
}

pub(super) fn insert(
    main: &Connection,
    sealer: &Sealer,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let (key, pkcs8) = GatewayKey::generate()?;
    let sealed = sealer.seal(place(key.id()), &pkcs8)?;
    main.execute(
        "INSERT INTO gateway_keys (version, id, sec1, sealed, created_at) \
         VALUES ((SELECT coalesce(max(version), 0) + 1 FROM gateway_keys), ?1, ?2, ?3, ?4)",
        (key.id(), key.public().sec1(), sealed, millis(now)),
    )?;
    Ok(())
}

/// The key that signs retires: it is for the sessions that are open now, and no others.
pub(super) fn retire(main: &Connection, now: UnixMillis) -> Result<(), StoreError> {
    let last_expiry: Option<i64> = main
        .query_row("SELECT max(expires_at) FROM sessions WHERE settled_at IS NULL", [], |row| {
            row.get(0)
        })
        .optional()?
        .flatten();
    main.execute(
        "UPDATE gateway_keys SET retired_at = ?1, published_until = max(?1, ?2) \
         WHERE retired_at IS NULL",
        (millis(now), last_expiry.unwrap_or(0)),
    )?;
    wipe(main, now)?;
    Ok(())
}

/// Wipes the private halves of retired keys whose last session is over, and says how many.
pub(super) fn wipe(main: &Connection, now: UnixMillis) -> Result<usize, StoreError> {
    let wiped = main.execute(
        "UPDATE gateway_keys SET sealed = NULL WHERE sealed IS NOT NULL AND published_until <= ?1",
        [millis(now)],
    )?;
    Ok(wiped)
}
