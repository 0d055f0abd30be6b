//! The gateway's signing keys. The private half is sealed, and is wiped when its key retires.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::held::Numbered;
use super::interface::StoreError;
use super::sql::{begin, millis, time};
use crate::gateway_key::{GatewayKey, GatewayKeys, PublishedKey, RetiredKey};
use crate::seal::{Place, Sealer};

impl Numbered for GatewayKeys {
    fn number(&self) -> u64 {
        self.version.into()
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
    if version(&transaction)? == 0 {
        insert(&transaction, sealer, now)?;
    }
    Ok(transaction.commit()?)
}

/// The number of the newest key; 0: there is none.
pub(super) fn version(main: &Connection) -> Result<u64, StoreError> {
    let newest: Option<u32> = main
        .prepare_cached("SELECT max(version) FROM gateway_keys")?
        .query_row([], |row| row.get(0))?;
    Ok(newest.map_or(0, u64::from))
}

pub(super) fn read(main: &Connection, sealer: &Sealer) -> Result<GatewayKeys, StoreError> {
    // One statement, so that a rotation in between does not show.
    let mut statement = main.prepare(
        "SELECT version, id, sec1, sealed, published_until FROM gateway_keys ORDER BY version DESC",
    )?;
    let mut rows = statement.query([])?;
    let (mut active, mut retired) = (None, Vec::new());
    while let Some(row) = rows.next()? {
        let id: String = row.get(1)?;
        match (row.get::<_, Option<Vec<u8>>>(3)?, row.get::<_, Option<i64>>(4)?) {
            (Some(sealed), _) => {
                let pkcs8 = sealer.open(place(&id), &sealed)?;
                active = Some((row.get(0)?, Arc::new(GatewayKey::from_pkcs8(&pkcs8)?)));
            }
            (None, until) => retired.push(RetiredKey {
                key: PublishedKey::new(id, &row.get::<_, Vec<u8>>(2)?)?,
                published_until: time(until.unwrap_or(0)),
            }),
        }
    }
    let (version, active) = active
        .ok_or_else(|| StoreError::Failed("there is no signing key; restart the server".into()))?;
    Ok(GatewayKeys { version, active, retired })
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

/// A request for a session is signed after the session was read, so the key that retires has
/// signed for no session that is made later.
pub(super) fn retire(main: &Connection, now: UnixMillis) -> Result<(), StoreError> {
    let last_expiry: Option<i64> = main
        .query_row("SELECT max(expires_at) FROM sessions WHERE settled_at IS NULL", [], |row| {
            row.get(0)
        })
        .optional()?
        .flatten();
    main.execute(
        "UPDATE gateway_keys SET sealed = NULL, retired_at = ?1, published_until = max(?1, ?2) \
         WHERE sealed IS NOT NULL",
        (millis(now), last_expiry.unwrap_or(0)),
    )?;
    Ok(())
}
