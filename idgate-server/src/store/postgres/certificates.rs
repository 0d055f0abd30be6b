//! Keys with certificates, the same for all nodes.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::error::Done;
use super::numbers;
use super::pool::Tx;
use super::sql::{execute, rows};
use crate::gateway_key::{Certificates, PublishedKey, REPLACED_SIGNS_MS, Registration};
use crate::seal::Sealer;
use crate::store::certificates::{Row as Stored, open, parse};
use crate::store::sql::{millis, time};

/// All certificates that may still sign, newest first, at the moment of `tx`.
pub(super) async fn read(tx: &Tx<'_>, sealer: &Sealer) -> Done<Certificates> {
    let version = numbers::read(tx).await?.certificates;
    let sql = "SELECT c.client_id, c.key_id, k.sealed, c.chain, c.replaced_at \
               FROM certificates AS c JOIN certificate_keys AS k ON k.id = c.key_id \
               ORDER BY c.number DESC";
    let found = rows(tx, sql, &[]).await?;
    let found = found.iter().map(stored).collect::<Done<Vec<_>>>()?;
    let registrations = registrations(tx).await?;
    Ok(Certificates { version, keys: open(found, sealer), registrations })
}

fn stored(row: &Row) -> Done<Stored> {
    Ok(Stored {
        client_id: row.try_get(0)?,
        key_id: row.try_get(1)?,
        sealed: row.try_get(2)?,
        chain: row.try_get(3)?,
        replaced_at: row.try_get::<_, Option<i64>>(4)?.map(time),
    })
}

/// What registrars attest of clients.
pub(super) async fn registrations(
    on: &impl deadpool_postgres::GenericClient,
) -> Done<Vec<Registration>> {
    let sql = "SELECT client_id, jwt, strict FROM registrations ORDER BY client_id";
    let mut found = Vec::new();
    for row in rows(on, sql, &[]).await? {
        found.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    Ok(parse(found))
}

/// The keys of this client (empty: the gateway).
pub(super) async fn keys_of(
    on: &impl deadpool_postgres::GenericClient,
    client_id: &str,
) -> Done<Vec<PublishedKey>> {
    let sql = "SELECT id, sec1 FROM certificate_keys WHERE client_id = $1";
    let mut keys = Vec::new();
    for row in rows(on, sql, &[&client_id]).await? {
        keys.push(PublishedKey::new(row.try_get(0)?, &row.try_get::<_, Vec<u8>>(1)?)?);
    }
    Ok(keys)
}

/// Removes certificates that were replaced so long ago that no session can name them any more, and
/// erases keys that have none left of those that they had. Says how many certificates those were.
pub(super) async fn forget(tx: &Tx<'_>, now: UnixMillis) -> Done<usize> {
    let before = millis(now.minus(REPLACED_SIGNS_MS));
    let sql = "DELETE FROM certificates WHERE replaced_at < $1";
    let removed = execute(tx, sql, &[&before]).await?;
    if removed > 0 {
        let sql = "DELETE FROM certificate_keys WHERE used \
                   AND id NOT IN (SELECT key_id FROM certificates)";
        execute(tx, sql, &[]).await?;
        raise_version(tx).await?;
    }
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}

/// Ends what is of a client that is revoked: its certificate is replaced by none, so that sessions
/// that were made with it live on, and keys that wait for one go at once, with what a registrar
/// attests of it.
pub(super) async fn end(tx: &Tx<'_>, client_id: &str, now: UnixMillis) -> Done<()> {
    let sql =
        "UPDATE certificates SET replaced_at = $2 WHERE client_id = $1 AND replaced_at IS NULL";
    let mut ended = execute(tx, sql, &[&client_id, &millis(now)]).await?;
    for sql in [
        "DELETE FROM certificate_keys WHERE client_id = $1 AND NOT used",
        "DELETE FROM registrations WHERE client_id = $1",
    ] {
        ended = ended.saturating_add(execute(tx, sql, &[&client_id]).await?);
    }
    if ended > 0 {
        raise_version(tx).await?;
    }
    Ok(())
}

/// Every node reads anew.
pub(super) async fn raise_version(tx: &Tx<'_>) -> Done<()> {
    execute(tx, "UPDATE certificates_version SET version = version + 1", &[]).await?;
    Ok(())
}
