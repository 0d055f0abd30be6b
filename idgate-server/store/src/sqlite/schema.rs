//! Migrates the schema of the main database.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::audit_chain::hex;
use crate::seal::InstanceKey;
use crate::sqlite::error::begin;
use crate::sqlite::files::{main_path, make_private, open_for_reading, open_for_writing};
use crate::sqlite::reseal;
use crate::types::StoreError;

/// A numbered migration of the main database. Applied migrations never change; new ones are
/// appended.
pub(crate) struct Migration {
    pub(crate) number: u32,
    pub(crate) sql: &'static str,
    /// The part that SQL cannot do, in the same transaction.
    pub(crate) step: Option<Step>,
}

/// Changes the stored data with the key that it is sealed with.
pub(crate) type Step = fn(&Connection, &InstanceKey) -> Result<(), StoreError>;

pub(crate) const MIGRATIONS: &[Migration] = &[
    plain(1, include_str!("migrations/0001_initial.sql")),
    plain(2, include_str!("migrations/0002_x509_trust.sql")),
    plain(3, include_str!("migrations/0003_gateway_keys.sql")),
    plain(4, include_str!("migrations/0004_audit.sql")),
    plain(5, include_str!("migrations/0005_admin_tokens.sql")),
    plain(6, include_str!("migrations/0006_webhooks.sql")),
    plain(7, include_str!("migrations/0007_idempotent_answers.sql")),
    plain(8, include_str!("migrations/0008_metrics.sql")),
    plain(9, include_str!("migrations/0009_events_beside_sessions.sql")),
    plain(10, include_str!("migrations/0010_one_index_less.sql")),
    plain(11, include_str!("migrations/0011_trust_amended.sql")),
    plain(12, include_str!("migrations/0012_quotas.sql")),
    Migration {
        number: SEALED_ANEW,
        sql: include_str!("migrations/0013_sealed_anew.sql"),
        step: Some(reseal::main),
    },
    plain(14, include_str!("migrations/0014_sd_jwt_roots.sql")),
    plain(15, include_str!("migrations/0015_certificates.sql")),
    plain(16, include_str!("migrations/0016_offers.sql")),
    plain(17, include_str!("migrations/0017_registrations.sql")),
    plain(18, include_str!("migrations/0018_keys_kept.sql")),
    plain(19, include_str!("migrations/0019_reports.sql")),
    plain(20, include_str!("migrations/0020_pages.sql")),
    plain(21, include_str!("migrations/0021_trusted_lists.sql")),
    plain(22, include_str!("migrations/0022_traces.sql")),
    plain(23, include_str!("migrations/0023_deliveries_by_time.sql")),
    plain(24, include_str!("migrations/0024_sd_jwt_ekus.sql")),
    plain(25, include_str!("migrations/0025_faces.sql")),
    plain(26, include_str!("migrations/0026_handover.sql")),
    plain(27, include_str!("migrations/0027_on_unknown_revocation.sql")),
    plain(28, include_str!("migrations/0028_intended_uses.sql")),
    plain(29, include_str!("migrations/0029_lists_of_lists.sql")),
];

/// From this migration on no value is sealed as in the first 0.1.0.
pub(crate) const SEALED_ANEW: u32 = 13;

/// A migration in SQL alone.
const fn plain(number: u32, sql: &'static str) -> Migration {
    Migration { number, sql, step: None }
}

/// Opens the main database for writing and migrates its schema.
///
/// # Errors
/// The database cannot be used, or it has to be changed and `key` is not its key.
pub(crate) fn open_main(dir: &Path, key: &InstanceKey) -> Result<Connection, StoreError> {
    let mut conn = open_for_writing(&main_path(dir))?;
    // 64 MiB: a log that a burst made large is truncated to this.
    conn.pragma_update(None, "journal_size_limit", 67_108_864)?;
    migrate(&mut conn, MIGRATIONS, &main_path(dir), key)?;
    Ok(conn)
}

/// Applies the missing `migrations`. A database that is in use is copied first.
pub(crate) fn migrate(
    conn: &mut Connection,
    migrations: &[Migration],
    path: &Path,
    key: &InstanceKey,
) -> Result<(), StoreError> {
    conn.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             number INTEGER PRIMARY KEY, checksum TEXT NOT NULL
         ) STRICT",
    )?;
    let applied = check_applied(conn, migrations)?;
    let Some(next) = migrations.iter().find(|migration| migration.number > applied) else {
        return Ok(());
    };
    if applied > 0 {
        back_up(conn, path, next.number)?;
    }
    let transaction = begin(conn)?;
    // Another process may have been first.
    let applied = check_applied(&transaction, migrations)?;
    for migration in migrations.iter().filter(|migration| migration.number > applied) {
        transaction.execute_batch(migration.sql)?;
        if let Some(step) = migration.step {
            step(&transaction, key)?;
        }
        transaction.execute(
            "INSERT INTO schema_migrations (number, checksum) VALUES (?1, ?2)",
            (migration.number, checksum(migration.sql)),
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// The number of the last applied migration, after checking that all applied ones are known and
/// unchanged.
fn check_applied(conn: &Connection, migrations: &[Migration]) -> Result<u32, StoreError> {
    let mut statement =
        conn.prepare("SELECT number, checksum FROM schema_migrations ORDER BY number")?;
    let mut rows = statement.query([])?;
    let mut last = 0;
    while let Some(row) = rows.next()? {
        let (number, stored): (u32, String) = (row.get(0)?, row.get(1)?);
        let known = migrations.iter().find(|migration| migration.number == number);
        let known = known.ok_or_else(|| {
            StoreError::Failed(format!(
                "the database has schema {number}, which is newer than this program; \
                 use the version of idgate that made it, or a later one"
            ))
        })?;
        if checksum(known.sql) != stored {
            return Err(StoreError::Failed(format!(
                "schema change {number} of the database is not the one of this program; \
                 use the version of idgate that made it, or restore a backup"
            )));
        }
        last = number;
    }
    Ok(last)
}

/// The schema versions of a database and of this program.
pub(crate) fn numbers(main: &Connection) -> Result<(u32, u32), StoreError> {
    let want = MIGRATIONS.iter().map(|migration| migration.number).max().unwrap_or(0);
    Ok((check_applied(main, MIGRATIONS)?, want))
}

/// Whether a main database exists that opening it would migrate.
pub(crate) fn is_older(dir: &Path) -> Result<bool, StoreError> {
    let path = main_path(dir);
    if !path.is_file() {
        return Ok(false);
    }
    let main = open_for_reading(&path)?;
    let is_made = main.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_table_list('schema_migrations'))",
        [],
        |row| row.get::<_, bool>(0),
    )?;
    let (have, want) = if is_made { numbers(&main)? } else { (0, 0) };
    Ok(0 < have && have < want)
}

/// Copies the main database to `idgate.db.before-<number>`. Replaces the copy of an earlier
/// attempt.
fn back_up(conn: &Connection, path: &Path, number: u32) -> Result<(), StoreError> {
    let name = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let draft = name(&format!(".before-{number}.draft-{}", std::process::id()));
    let failed = |error: std::io::Error| {
        StoreError::Failed(format!("the backup {} failed: {error}", draft.display()))
    };
    if draft.exists() {
        std::fs::remove_file(&draft).map_err(failed)?;
    }
    make_private(&draft)?;
    conn.execute("VACUUM INTO ?1", [draft.to_string_lossy()])?;
    File::open(&draft).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&draft, name(&format!(".before-{number}"))).map_err(failed)
}

/// The SHA-256 of a migration, in hex.
fn checksum(sql: &str) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, sql.as_bytes()).as_ref())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::sqlite::files::open_claims;

    const FIRST: Migration =
        Migration { number: 1, sql: "CREATE TABLE a (x INTEGER) STRICT;", step: None };
    const SECOND: Migration =
        Migration { number: 2, sql: "ALTER TABLE a ADD COLUMN y TEXT;", step: None };

    fn database() -> (tempfile::TempDir, PathBuf, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let path = main_path(dir.path());
        let conn = open_for_writing(&path).unwrap();
        (dir, path, conn)
    }

    fn key() -> InstanceKey {
        InstanceKey::generate().unwrap()
    }

    fn files(dir: &tempfile::TempDir) -> Vec<String> {
        let names = std::fs::read_dir(dir.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn the_migrations_of_this_version_apply_once() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let conn = open_main(dir.path(), &key()).unwrap();
            let version: i64 =
                conn.query_row("SELECT version FROM trust_version", [], |row| row.get(0)).unwrap();
            assert_eq!(version, 1);
        }
        assert!(!files(&dir).iter().any(|name| name.contains("before")));
    }

    #[test]
    fn every_connection_has_the_durability_and_erasure_pragmas() {
        let dir = tempfile::tempdir().unwrap();
        for conn in [open_main(dir.path(), &key()).unwrap(), open_claims(dir.path()).unwrap()] {
            let number = |name: &str| -> i64 {
                conn.pragma_query_value(None, name, |row| row.get(0)).unwrap()
            };
            assert_eq!(number("synchronous"), 2);
            assert_eq!(number("secure_delete"), 1);
            assert_eq!(number("foreign_keys"), 1);
            assert_eq!(number("busy_timeout"), 5000);
            assert_eq!(number("temp_store"), 2);
            assert_eq!(number("trusted_schema"), 0);
            let mode: String =
                conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
    }

    #[test]
    fn statements_are_prepared_once_whatever_is_bound_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let writing = open_main(dir.path(), &key()).unwrap();
        let reading = open_for_reading(&main_path(dir.path())).unwrap();
        for conn in [writing, reading] {
            for session_id in ["ses_a", "ses_b", "ses_c"] {
                let mut statement = conn
                    .prepare_cached("SELECT ?1, max(seq) FROM audit_entries WHERE client_id = ?1")
                    .unwrap();
                assert!(statement.exists([session_id]).unwrap());
                assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
            }
        }
    }

    #[test]
    fn a_database_in_use_is_copied_before_it_changes() {
        let (dir, path, mut conn) = database();
        migrate(&mut conn, &[FIRST], &path, &key()).unwrap();
        conn.execute("INSERT INTO a (x) VALUES (7)", []).unwrap();
        migrate(&mut conn, &[FIRST, SECOND], &path, &key()).unwrap();
        conn.execute("UPDATE a SET y = 'new'", []).unwrap();
        let copy = Connection::open(dir.path().join("idgate.db.before-2")).unwrap();
        let x: i64 = copy.query_row("SELECT x FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(x, 7);
        assert!(copy.prepare("SELECT y FROM a").is_err());
        assert!(!files(&dir).iter().any(|name| name.contains("draft")));
    }

    #[test]
    fn every_file_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, path, mut conn) = database();
        migrate(&mut conn, &[FIRST], &path, &key()).unwrap();
        migrate(&mut conn, &[FIRST, SECOND], &path, &key()).unwrap();
        let names = files(&dir);
        assert_eq!(names.len(), 4, "database, log, index and copy: {names:?}");
        for name in names {
            let mode = std::fs::metadata(dir.path().join(&name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_failing_migration_leaves_the_database_unchanged() {
        let (_dir, path, mut conn) = database();
        migrate(&mut conn, &[FIRST], &path, &key()).unwrap();
        let broken =
            Migration { number: 2, sql: "CREATE TABLE b (x INTEGER); NONSENSE;", step: None };
        assert!(migrate(&mut conn, &[FIRST, broken], &path, &key()).is_err());
        assert!(conn.prepare("SELECT x FROM b").is_err());
        migrate(&mut conn, &[FIRST, SECOND], &path, &key()).unwrap();
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let (_dir, path, mut conn) = database();
        migrate(&mut conn, &[FIRST, SECOND], &path, &key()).unwrap();
        let Err(StoreError::Failed(text)) = migrate(&mut conn, &[FIRST], &path, &key()) else {
            panic!("accepted");
        };
        assert!(text.contains("newer than this program"), "{text}");
    }

    #[test]
    fn a_changed_migration_is_refused() {
        let (_dir, path, mut conn) = database();
        migrate(&mut conn, &[FIRST], &path, &key()).unwrap();
        let other = Migration { number: 1, sql: "CREATE TABLE a (z INTEGER) STRICT;", step: None };
        assert!(migrate(&mut conn, &[other], &path, &key()).is_err());
    }
}
