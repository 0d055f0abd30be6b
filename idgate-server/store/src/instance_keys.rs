//! The instance keys that a database is sealed with, as rows.

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::key_check::{self, CHECK, Check};
use super::types::StoreError;
use crate::seal::Sealer;

/// How PostgreSQL locks the rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lock {
    /// Not at all.
    None,
    /// No command removes a key before the transaction ends.
    Share,
    /// No node or command that seals with another key starts before the transaction ends.
    Update,
}

/// The checks of all keys.
pub(super) async fn checks(db: &Db<'_>, lock: Lock) -> Done<Vec<Check>> {
    let sql = match lock {
        Lock::None => sql("SELECT name, sealed FROM instance \
                           WHERE name = 'key_check' OR name LIKE 'key_check %'"),
        Lock::Share => sql("SELECT name, sealed FROM instance \
                            WHERE name = 'key_check' OR name LIKE 'key_check %' {FOR SHARE}"),
        Lock::Update => sql("SELECT name, sealed FROM instance \
                             WHERE name = 'key_check' OR name LIKE 'key_check %' {FOR UPDATE}"),
    };
    db.all(sql, &[], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?))).await
}

/// Rejects keys other than those that the database is sealed with. An empty database accepts any
/// key. Returns the check to store with the first value that the key seals.
pub(super) async fn first_key(db: &Db<'_>, sealer: &Sealer) -> Done<Option<Check>> {
    let mut found = checks(db, Lock::Share).await?;
    if found.is_empty() {
        note(db, &(CHECK.to_owned(), key_check::seal(sealer, CHECK)?)).await?;
        // Another process or node may have been first, with another key.
        found = checks(db, Lock::Share).await?;
    }
    judge(db, sealer, &found)
}

/// The same check, read-only. A data directory with no known key accepts any.
pub(super) async fn require_key(db: &Db<'_>, sealer: &Sealer) -> Done<()> {
    let found = checks(db, Lock::None).await?;
    if found.is_empty() && matches!(db, Db::Sqlite(_)) {
        return Ok(());
    }
    judge(db, sealer, &found).map(drop)
}

/// Rejects keys other than those of these checks. Returns the missing check of the key that seals.
pub(super) fn judge(db: &Db<'_>, sealer: &Sealer, found: &[Check]) -> Done<Option<Check>> {
    let none = if matches!(db, Db::Sqlite(_)) { not_of_directory } else { not_of_database };
    Ok(key_check::judge(sealer, found, none)?)
}

/// Notes that something is sealed with a key.
pub(super) async fn note(db: &Db<'_>, (name, sealed): &Check) -> Done<()> {
    let sql =
        sql("INSERT INTO instance (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
    db.run(sql, &[name, sealed]).await.map(drop)
}

/// Notes that everything is sealed with the key that seals. The other `held` keys are removed.
pub(super) async fn only_key(db: &Db<'_>, sealer: &Sealer, held: &[Check]) -> Done<()> {
    let sealed = key_check::seal(sealer, CHECK)?;
    let update = sql("UPDATE instance SET sealed = $2 WHERE name = $1");
    db.run(update, &[&CHECK, &sealed]).await?;
    for (name, _) in held.iter().filter(|(name, _)| name != CHECK) {
        db.run(sql("DELETE FROM instance WHERE name = $1"), &[name]).await?;
    }
    Ok(())
}

pub(super) fn not_of_directory() -> StoreError {
    StoreError::Failed(
        "the instance key is not the one that this data directory was made with; \
         set IDGATE_INSTANCE_KEY, or restore instance.key, to that key"
            .into(),
    )
}

fn not_of_database() -> StoreError {
    StoreError::Failed(
        "the instance key is not the one that this database is sealed with; set \
         IDGATE_INSTANCE_KEY to that key, or IDGATE_INSTANCE_KEYS to it and its replacement, the \
         same on all nodes"
            .into(),
    )
}
