//! Moves a gateway from its data directory into a shared database. Until the copy is complete, no
//! gateway serves or changes the directory. The database must be empty, or hold what an earlier
//! call began with the same directory; then the copy starts over. After an interruption, call it
//! again: no gateway starts on the database until everything was copied and compared.

mod source;

use std::path::Path;

use idgate_core::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use self::source::each_batch;
use super::audit::report::Auditor;
use super::copied_tables::{RESULTS, SESSION_KEYS, TABLES, Table};
use super::postgres::PostgresOperator;
use super::sql::time;
use super::sqlite::audit::Rows;
use super::types::Resealed;
use super::types::StoreError;
use crate::address::Address;
use crate::audit_chain::AuditKeys;
use crate::seal::{InstanceKey, Sealer};
use crate::sqlite::directory::SANDBOX_FILE;
use crate::sqlite::files::{claims_path, main_path, open_for_reading, open_for_writing};
use crate::sqlite::{directory, rekey, schema};

/// What was copied.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Copied {
    /// The number of rows of each table that has any.
    pub rows: Vec<(&'static str, u64)>,
    /// The number of audit entries that were verified in both places.
    pub entries: u64,
    /// Sessions whose claims were still readable and are lost.
    pub lost_claims: u64,
}

/// Copies the data directory `dir` into the database at `address`. Both are sealed with `key`.
///
/// # Errors
/// A gateway uses the directory; the directory, the database or the key is not the expected one; or
/// the copy differs from the original. The text says what to do.
pub fn copy(
    dir: &Path,
    address: &Address,
    key: &InstanceKey,
    now: UnixMillis,
) -> Result<Copied, StoreError> {
    let source = Source::open(dir, key)?;
    let target = PostgresOperator::open_for_copy(address, key)?;
    let mark = target.begin_copy(&source.id)?;
    let mut copied = Copied::default();
    for table in source.tables() {
        let rows = each_batch(&source.main, table, &mut |batch| {
            target.insert_copied(&mark, table, batch)
        })?;
        if rows > 0 {
            copied.rows.push((table.name, rows));
        }
    }
    copied.lost_claims =
        source.each_result(now, |id, until| target.lose_claims(&mark, id, until))?;
    target.complete_copy(&mark)?;
    for table in source.tables() {
        let rows =
            each_batch(&source.main, table, &mut |batch| target.compare_copied(table, batch))?;
        target.count_copied(table, rows)?;
    }
    let auditor = Auditor { log: &target, keys: &target.desk.audit };
    let report = auditor.verify(None, &[], u64::MAX)?;
    let sealed = target.sealed()?;
    if !report.breaches.is_empty() || sealed.unreadable > 0 {
        return Err(StoreError::Damaged(
            "the copy differs from the data directory: the database was changed in the meantime; \
             copy again"
                .into(),
        ));
    }
    target.end_copy(&mark)?;
    Ok(Copied { entries: report.entries, ..copied })
}

/// A data directory that no gateway serves or changes.
struct Source {
    /// With the file of results and session keys attached as `claims`, if it exists.
    main: Connection,
    has_claims: bool,
    /// The id of the directory.
    id: Vec<u8>,
    /// Holds SQLite's write lock until the copy is done.
    _nobody_writes: Connection,
    _nobody_serves: std::fs::File,
}

impl Source {
    fn open(dir: &Path, key: &InstanceKey) -> Result<Self, StoreError> {
        // The copy would lose its sandbox mark, and every environment would serve it.
        if dir.join(SANDBOX_FILE).exists() {
            return Err(StoreError::Failed(format!(
                "{} is the folder of a sandbox, which is for development only and holds the keys \
                 of its issuers; name the data directory of a gateway with --from",
                dir.display()
            )));
        }
        let path = main_path(dir);
        if !path.is_file() {
            return Err(StoreError::Failed(format!(
                "there is no {}; name the data directory of a gateway with --from",
                path.display()
            )));
        }
        directory::require_database(dir)?;
        let lock = directory::lock(dir)?;
        let main = open_for_reading(&path)?;
        let (have, want) = schema::numbers(&main)?;
        if have < want {
            return Err(StoreError::Failed(format!(
                "the data directory has schema {have}, and this program copies {want}; migrate it \
                 with `idgate client list` on it, which makes a copy first"
            )));
        }
        let (sealer, audit) = (Sealer::new(key)?, AuditKeys::new(key)?);
        let claims = claims_path(dir);
        let has_claims = claims.is_file();
        if has_claims {
            attach(&main, &claims)?;
        }
        // Operator commands work on a directory that no gateway serves. With this lock they wait
        // and then give up.
        let writer = open_for_writing(&path)?;
        writer.execute_batch("BEGIN IMMEDIATE")?;
        directory::require_key(&main, &sealer)?;
        verify(&main, &audit)?;
        let claims = has_claims.then(|| open_for_reading(&claims)).transpose()?;
        require_readable(rekey::count_lasting(&main, claims.as_ref(), &sealer, &audit)?)?;
        let sql = "SELECT sealed FROM instance WHERE name = 'database_id'";
        let id = main.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or_default();
        Ok(Self { main, has_claims, id, _nobody_writes: writer, _nobody_serves: lock })
    }

    fn tables(&self) -> impl Iterator<Item = &'static Table> {
        TABLES.iter().chain(self.has_claims.then_some(&SESSION_KEYS))
    }

    /// The results that may still be read at `now`, and until when.
    fn each_result(
        &self,
        now: UnixMillis,
        mut take: impl FnMut(&str, UnixMillis) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        if !self.has_claims {
            return Ok(0);
        }
        let mut statement = self.main.prepare(RESULTS)?;
        let mut found = statement.query([])?;
        let mut taken = 0_u64;
        while let Some(row) = found.next()? {
            let (id, until): (String, i64) = (row.get(0)?, row.get(1)?);
            if time(until) > now {
                take(&id, time(until))?;
                taken = taken.saturating_add(1);
            }
        }
        Ok(taken)
    }
}

/// Attaches the file of results and session keys, for reading as well.
fn attach(main: &Connection, claims: &Path) -> Result<(), StoreError> {
    let name = claims.to_str().ok_or_else(|| {
        StoreError::Failed(format!("the name of {} is not UTF-8; move it", claims.display()))
    })?;
    main.execute("ATTACH ?1 AS claims", [name])?;
    Ok(())
}

/// Rejects values that no key opens: the copy would hold them just as unreadable.
fn require_readable(found: Resealed) -> Result<(), StoreError> {
    match found.unreadable {
        0 => Ok(()),
        unreadable => Err(StoreError::Damaged(format!(
            "{unreadable} values of the data directory do not open under its instance key; `idgate \
             doctor --deep` on the directory says which, and a backup has them as they were"
        ))),
    }
}

/// Rejects an audit log that was altered.
fn verify(main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
    let report = Auditor { log: &Rows { main, keys }, keys }.verify(None, &[], u64::MAX)?;
    if report.breaches.is_empty() {
        return Ok(());
    }
    Err(StoreError::Damaged(
        "the audit log of the data directory was altered; `idgate audit verify` says where, and a \
         backup has it as it was"
            .into(),
    ))
}
