//! Which instance keys the database is sealed with. It never has one itself.

use super::super::key_check::{self, CHECK, Check};
use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::pool::{Pool, Tx};
use crate::postgres_statements::{execute, row, rows};
use crate::seal::Sealer;

/// Refuses other keys than those that the database is sealed with; an empty database takes any. Gives the key that
/// seals, if it is to be noted with the first value that it seals.
pub(crate) async fn check_key(pool: &Pool, sealer: &Sealer) -> Done<Option<Check>> {
    pool.transact(sealer, |sealer, tx| {
        Box::pin(async move {
            let copying = row(tx, "SELECT FROM instance WHERE name = $1", &[&COPYING]).await?;
            if copying.is_some() {
                return Err(Failure::failed(
                    "a data directory was copied into this database, and that did not end; run \
                     `idgate copy` again",
                ));
            }
            check(tx, sealer).await
        })
    })
    .await
}

/// Set while a data directory is copied into the database, which is not all there yet.
pub(super) const COPYING: &str = "copying_from";

/// The same for a command, which may only read: without a lock, and without a change unless the database is empty.
pub(crate) async fn first_key(pool: &Pool, sealer: &Sealer) -> Done<Option<Check>> {
    let client = pool.client().await?;
    let copying = row(&client, "SELECT FROM instance WHERE name = $1", &[&COPYING]).await?;
    let mut found = Vec::new();
    for row in rows(&client, key_check::CHECKS, &[]).await? {
        found.push((row.try_get(0)?, row.try_get(1)?));
    }
    drop(client);
    if copying.is_some() || found.is_empty() {
        return check_key(pool, sealer).await;
    }
    Ok(key_check::judge(sealer, &found, another_key)?)
}

/// Refuses other keys than those that the database is sealed with, without a change.
pub(super) async fn require_key(pool: &Pool, sealer: &Sealer) -> Done<()> {
    let client = pool.client().await?;
    let mut found = Vec::new();
    for row in rows(&client, key_check::CHECKS, &[]).await? {
        found.push((row.try_get(0)?, row.try_get(1)?));
    }
    key_check::judge(sealer, &found, another_key)?;
    Ok(())
}

/// Notes the key of an empty database, and refuses others than those of one that is not. Gives the key that seals, if
/// it is not noted.
pub(super) async fn check(tx: &Tx<'_>, sealer: &Sealer) -> Done<Option<Check>> {
    note(tx, &(CHECK.to_owned(), key_check::seal(sealer, CHECK)?)).await?;
    // Another node may have come first, with another key, or a command may just forget one.
    let checks = checks(tx, &format!("{} FOR SHARE", key_check::CHECKS)).await?;
    Ok(key_check::judge(sealer, &checks, another_key)?)
}

/// The keys that are asked for, each of which has to be given if `all`. Until the transaction ends, no node and no
/// command that seals under another one starts.
pub(super) async fn hold_keys(tx: &Tx<'_>, sealer: &Sealer, all: bool) -> Done<Vec<Check>> {
    let sql = format!("{} FOR UPDATE", key_check::CHECKS);
    let checks = checks(tx, &sql).await?;
    if all {
        key_check::judge(sealer, &checks, another_key)?;
    }
    Ok(checks)
}

/// Says that everything is sealed under the key that seals; `held` are forgotten.
pub(super) async fn only_key(tx: &Tx<'_>, sealer: &Sealer, held: &[Check]) -> Done<()> {
    let sealed = key_check::seal(sealer, CHECK)?;
    execute(tx, "UPDATE instance SET sealed = $2 WHERE name = $1", &[&CHECK, &sealed]).await?;
    for (name, _) in held.iter().filter(|(name, _)| name != CHECK) {
        execute(tx, "DELETE FROM instance WHERE name = $1", &[name]).await?;
    }
    Ok(())
}

async fn checks(tx: &Tx<'_>, sql: &str) -> Done<Vec<Check>> {
    let mut checks = Vec::new();
    for row in rows(tx, sql, &[]).await? {
        checks.push((row.try_get(0)?, row.try_get(1)?));
    }
    Ok(checks)
}

pub(super) async fn note(tx: &Tx<'_>, (name, sealed): &Check) -> Done<()> {
    let sql = "INSERT INTO instance (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    execute(tx, sql, &[name, sealed]).await?;
    Ok(())
}

fn another_key() -> StoreError {
    StoreError::Failed(
        "the instance key is not the one that this database is sealed with; set IDGATE_INSTANCE_KEY \
         to that key, or IDGATE_INSTANCE_KEYS to it and the one that is to take its place, the same on \
         all nodes"
            .into(),
    )
}
