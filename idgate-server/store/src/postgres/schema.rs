//! Migrates the schema. A node works with a schema one version newer than its own, so that nodes of
//! two versions can run side by side during an upgrade.

use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::pool::{Pool, Tx};
use crate::audit_chain::hex;
use crate::postgres_statements::rows;

/// A numbered migration. Applied migrations never change. New ones are appended, and keep what the
/// previous version needs.
struct Migration {
    number: i64,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, sql: include_str!("migrations/0001_initial.sql") },
    Migration { number: 2, sql: include_str!("migrations/0002_reports.sql") },
    Migration { number: 3, sql: include_str!("migrations/0003_pages.sql") },
    Migration { number: 4, sql: include_str!("migrations/0004_trusted_lists.sql") },
    Migration { number: 5, sql: include_str!("migrations/0005_traces.sql") },
    Migration { number: 6, sql: include_str!("migrations/0006_sd_jwt_ekus.sql") },
    Migration { number: 7, sql: include_str!("migrations/0007_faces.sql") },
    Migration { number: 8, sql: include_str!("migrations/0008_handover.sql") },
    Migration { number: 9, sql: include_str!("migrations/0009_on_unknown_revocation.sql") },
    Migration { number: 10, sql: include_str!("migrations/0010_intended_uses.sql") },
    Migration { number: 11, sql: include_str!("migrations/0011_lists_of_lists.sql") },
];

/// Only one node or command changes the schema at a time.
pub(super) const LOCK: i64 = 0x6964_6761_7465;

/// How the schema of the database compares to this program's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Schema {
    /// The same, or one version newer.
    Fits,
    /// It has to be migrated first. 0: there is no schema yet.
    Older(i64),
}

/// Migrates the schema if `migrates`.
///
/// # Errors
/// The schema is older, or too new for this program. The text says what to do.
pub(super) async fn prepare(pool: &Pool, migrates: bool) -> Done<()> {
    if migrates {
        return migrate(pool).await.map(drop);
    }
    match of(pool).await? {
        Schema::Fits => Ok(()),
        Schema::Older(found) => Err(Failure::failed(format!(
            "the database has schema {found}, this program needs {}; run `idgate migrate`, or start \
             with --migrate",
            wanted()
        ))),
    }
}

/// Applies all missing migrations in one transaction. Returns the old and the new version.
///
/// # Errors
/// The schema is too new for this program, or a migration in it differs.
pub(crate) async fn migrate(pool: &Pool) -> Done<(i64, i64)> {
    pool.transact(&(), |(), tx| {
        Box::pin(async move {
            // 60 s: the time that a migration takes on a full database, and that a second `migrate`
            // waits for the first one. A migration waits for a table only as long as any statement
            // does, because others queue behind it.
            tx.batch_execute("SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '60s'")
                .await?;
            tx.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
            tx.batch_execute("SET LOCAL lock_timeout = '5s'").await?;
            tx.batch_execute(
                "CREATE TABLE IF NOT EXISTS schema_migrations (
                     number bigint PRIMARY KEY, checksum text NOT NULL
                 )",
            )
            .await?;
            let found = check_applied(tx).await?;
            for migration in MIGRATIONS.iter().filter(|migration| migration.number > found) {
                tx.batch_execute(migration.sql).await?;
                tx.execute(
                    "INSERT INTO schema_migrations (number, checksum) VALUES ($1, $2)",
                    &[&migration.number, &checksum(migration.sql)],
                )
                .await?;
            }
            Ok((found, wanted()))
        })
    })
    .await
}

/// Rejects every schema but this program's, including one that nodes could work with.
///
/// # Errors
/// The schema has another version. The text says what to do.
pub(super) async fn require(pool: &Pool) -> Done<()> {
    prepare(pool, false).await?;
    let client = pool.client().await?;
    let found = rows(&client, "SELECT max(number) FROM schema_migrations", &[]).await?;
    let found = found.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?.flatten();
    if found == Some(wanted()) {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "the database has schema {}, and this program fills {}; use the version of idgate that made it",
        found.unwrap_or(0),
        wanted()
    )))
}

/// Compares the schema without changing it.
///
/// # Errors
/// The schema is too new for this program, or a migration in it differs.
pub(crate) async fn of(pool: &Pool) -> Done<Schema> {
    let mut client = pool.client().await?;
    let tx = client.build_transaction().read_only(true).start().await?;
    let exists: bool = tx
        .query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[])
        .await?
        .try_get(0)?;
    let found = if exists { check_applied(&tx).await? } else { 0 };
    Ok(if found < wanted() { Schema::Older(found) } else { Schema::Fits })
}

/// The schema version of this program.
pub(crate) fn wanted() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.number).max().unwrap_or(0)
}

/// The number of the last applied migration, after checking that all known ones are unchanged.
async fn check_applied(tx: &Tx<'_>) -> Done<i64> {
    let mut last = 0;
    for row in
        rows(tx, "SELECT number, checksum FROM schema_migrations ORDER BY number", &[]).await?
    {
        let (number, stored): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        let known = MIGRATIONS.iter().find(|migration| migration.number == number);
        if known.is_some_and(|known| checksum(known.sql) != stored) {
            return Err(Failure::failed(format!(
                "schema change {number} of the database is not the one of this program; \
                 use the version of idgate that made it, or restore a backup"
            )));
        }
        last = number;
    }
    if last > wanted().saturating_add(1) {
        return Err(Failure::Store(StoreError::Failed(format!(
            "the database has schema {last}, which is newer than this program can work with ({}); \
             use the version of idgate that made it, or a later one",
            wanted()
        ))));
    }
    Ok(last)
}

fn checksum(sql: &str) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, sql.as_bytes()).as_ref())
}
