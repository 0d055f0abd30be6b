//! The two database files, and how each is opened.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::types::StoreError;

const PRAGMAS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
";

/// How long a connection waits for another process to finish writing.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn main_path(dir: &Path) -> PathBuf {
    dir.join("idgate.db")
}

pub(crate) fn claims_path(dir: &Path) -> PathBuf {
    dir.join("claims.db")
}

/// Opens the results for writing.
pub(crate) fn open_claims(dir: &Path) -> Result<Connection, StoreError> {
    let conn = open_for_writing(&claims_path(dir))?;
    // 256 KiB: written rows are read by other connections and soon erased.
    conn.pragma_update(None, "cache_size", -256)?;
    conn.execute_batch(include_str!("claims.sql"))?;
    Ok(conn)
}

/// Opens a file read-only.
pub(crate) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.execute_batch(PRAGMAS)?;
    // 64 KiB: every commit invalidates a reader's cache.
    conn.pragma_update(None, "cache_size", -64)?;
    keep_plans(&conn)?;
    Ok(conn)
}

/// Checkpoints the write-ahead log into the file and truncates it. `false`: a reader is in the way.
pub(crate) fn truncate_log(conn: &Connection) -> Result<bool, StoreError> {
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

/// Creates a file that only its owner may read. SQLite gives its log and its index the same mode.
pub(crate) fn make_private(path: &Path) -> Result<File, StoreError> {
    let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    made.map_err(|error| StoreError::Failed(format!("{} cannot be made: {error}", path.display())))
}

pub(crate) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    make_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.execute_batch(PRAGMAS)?;
    // 1 MiB: the pages that a group of changes touches.
    conn.pragma_update(None, "cache_size", -1024)?;
    keep_plans(&conn)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Otherwise SQLite looks at bound values when it plans some statements, and prepares them again
/// for each use. No table here is analysed, so no value could lead to a better plan.
fn keep_plans(conn: &Connection) -> Result<(), StoreError> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Whether a main database exists and is not empty.
///
/// # Errors
/// The file is not a database.
pub(crate) fn holds_anything(dir: &Path) -> Result<bool, StoreError> {
    let path = main_path(dir);
    if !path.is_file() {
        return Ok(false);
    }
    let is_made = open_for_reading(&path).and_then(|main| {
        let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_list('schema_migrations'))";
        if !main.query_row(sql, [], |row| row.get::<_, bool>(0))? {
            return Ok(false);
        }
        Ok(main.prepare("SELECT 1 FROM schema_migrations")?.exists([])?)
    });
    is_made.map_err(|error| match error {
        StoreError::Damaged(why) => StoreError::Damaged(format!(
            "{}: {why}; keep the directory as it is, and restore a backup to another one \
             (docs/backup.md, \"Restore\")",
            path.display()
        )),
        other => other,
    })
}
