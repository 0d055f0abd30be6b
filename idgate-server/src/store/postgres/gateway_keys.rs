//! The gateway's signing keys, the same for all nodes.

use idgate_core::time::UnixMillis;

use super::error::Done;
use super::numbers;
use super::pool::{Pool, Tx};
use super::sql::{execute, rows};
use crate::gateway_key::{GatewayKey, GatewayKeys};
use crate::seal::Sealer;
use crate::store::gateway_keys::{StoredKey, assemble, place};
use crate::store::sql::{millis, time};

/// Makes the first key when there is none, whichever node comes first.
pub(super) async fn ensure(pool: &Pool, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    pool.transact(&(sealer, now), |&(sealer, now), tx| {
        Box::pin(async move {
            if numbers::read(tx).await?.gateway_keys == 0 {
                lock(tx).await?;
                if numbers::read(tx).await?.gateway_keys == 0 {
                    insert(tx, sealer, now).await?;
                }
            }
            Ok(())
        })
    })
    .await
}

/// A new key signs; the one before it signs on for the sessions that are open now.
pub(super) async fn rotate(tx: &Tx<'_>, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    lock(tx).await?;
    execute(
        tx,
        "UPDATE gateway_keys SET retired_at = $1, published_until = greatest($1, (SELECT \
         max(expires_at) FROM sessions WHERE settled_at IS NULL)) WHERE retired_at IS NULL",
        &[&millis(now)],
    )
    .await?;
    wipe(tx, now).await?;
    insert(tx, sealer, now).await
}

/// Wipes the private halves of retired keys whose last session is over, and says how many.
pub(super) async fn wipe(on: &impl deadpool_postgres::GenericClient, now: UnixMillis) -> Done<u64> {
    let sql =
        "UPDATE gateway_keys SET sealed = NULL WHERE sealed IS NOT NULL AND published_until <= $1";
    execute(on, sql, &[&millis(now)]).await
}

/// All keys, at the moment of `tx`.
pub(super) async fn read(tx: &Tx<'_>, sealer: &Sealer) -> Done<GatewayKeys> {
    let number = numbers::read(tx).await?.gateway_keys;
    let sql = "SELECT id, sec1, sealed, published_until FROM gateway_keys ORDER BY version DESC";
    let mut keys = Vec::new();
    for row in rows(tx, sql, &[]).await? {
        keys.push(StoredKey {
            id: row.try_get(0)?,
            sec1: row.try_get(1)?,
            sealed: row.try_get(2)?,
            published_until: row.try_get::<_, Option<i64>>(3)?.map(time),
        });
    }
    Ok(assemble(number, keys, sealer)?)
}

/// Of all nodes and commands one changes keys at a time; reading goes on.
async fn lock(tx: &Tx<'_>) -> Done<()> {
    Ok(tx.batch_execute("LOCK TABLE gateway_keys IN SHARE ROW EXCLUSIVE MODE").await?)
}

async fn insert(tx: &Tx<'_>, sealer: &Sealer, now: UnixMillis) -> Done<()> {
    let (key, pkcs8) = GatewayKey::generate()?;
    let sealed = sealer.seal(place(key.id()), &pkcs8)?;
    execute(
        tx,
        "INSERT INTO gateway_keys (version, id, sec1, sealed, created_at) \
         SELECT coalesce(max(version), 0) + 1, $1::text, $2::bytea, $3::bytea, $4::bigint \
         FROM gateway_keys",
        &[&key.id(), &key.public().sec1(), &sealed, &millis(now)],
    )
    .await?;
    Ok(())
}
