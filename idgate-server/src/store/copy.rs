//! Moving a gateway from its data directory into a database that several share. The directory is read
//! at one moment, with nobody serving it; the database is empty, or has what an earlier call began with
//! the same directory, which is begun anew. Whoever is ended on the way calls again: until everything
//! is over and was compared, no gateway starts on the database.

pub(super) mod source;
pub(super) mod tables;

use std::path::Path;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use self::source::each_batch;
use self::tables::{SESSION_KEYS, TABLES, Table};
use super::audit::Rows;
use super::audit::report::Auditor;
use super::files::{claims_path, main_path, open_for_reading};
use super::interface::StoreError;
use super::operator::{AuditOperator as _, ResealOperator as _};
use super::postgres::PostgresOperator;
use super::sql::time;
use super::{directory, schema};
use crate::audit::AuditKeys;
use crate::config::Address;
use crate::seal::{InstanceKey, Sealer};

/// What was copied.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Copied {
    /// Rows of each table that has any.
    pub rows: Vec<(&'static str, u64)>,
    /// Audit entries that were verified in both places.
    pub entries: u64,
    /// Sessions whose claims were still readable, and are not any more.
    pub lost_claims: u64,
}

/// Copies what the data directory `dir` holds into the database at `address`. Both are sealed with
/// `key`.
///
/// # Errors
/// A gateway uses the directory; it, the database or the key is not what it should be; or what was
/// copied is not what is there. The text says what to do.
pub fn copy(
    dir: &Path,
    address: &Address,
    key: &InstanceKey,
    now: UnixMillis,
) -> Result<Copied, StoreError> {
    let source = Source::open(dir, key)?;
    let target = PostgresOperator::open_for_copy(address, key)?;
    target.begin_copy(&source.id)?;
    let mut copied = Copied::default();
    for (on, table) in source.tables() {
        let rows = each_batch(on, table, &mut |batch| target.insert_copied(table, batch))?;
        if rows > 0 {
            copied.rows.push((table.name, rows));
        }
    }
    copied.lost_claims = source.each_result(now, |id, until| target.lose_claims(id, until))?;
    target.complete_copy()?;
    for (on, table) in source.tables() {
        let rows = each_batch(on, table, &mut |batch| target.compare_copied(table, batch))?;
        target.count_copied(table, rows)?;
    }
    let report = target.verify_audit(None, &[])?;
    let sealed = target.sealed()?;
    if !report.breaches.is_empty() || sealed.unreadable > 0 {
        return Err(StoreError::Damaged(
            "what was copied is not what the data directory holds: the database was changed \
             meanwhile; copy again"
                .into(),
        ));
    }
    target.end_copy(&source.id)?;
    Ok(Copied { entries: report.entries, ..copied })
}

/// A data directory that nobody serves.
struct Source {
    main: Connection,
    claims: Option<Connection>,
    /// Which directory it is.
    id: Vec<u8>,
    _nobody_serves: std::fs::File,
}

impl Source {
    fn open(dir: &Path, key: &InstanceKey) -> Result<Self, StoreError> {
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
                "the data directory has schema {have}, and this program copies {want}; bring it up \
                 to date with `idgate client list` on it, which makes a copy first"
            )));
        }
        directory::require_key(&main, &Sealer::new(key)?)?;
        verify(&main, &AuditKeys::new(key)?)?;
        let claims = claims_path(dir);
        let claims = claims.is_file().then(|| open_for_reading(&claims)).transpose()?;
        let sql = "SELECT sealed FROM instance WHERE name = 'database_id'";
        let id = main.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or_default();
        // Everything is read as it is now: operator commands take no lock.
        main.execute_batch("BEGIN")?;
        Ok(Self { main, claims, id, _nobody_serves: lock })
    }

    fn tables(&self) -> impl Iterator<Item = (&Connection, &'static Table)> {
        let main = TABLES.iter().map(|table| (&self.main, table));
        main.chain(self.claims.iter().map(|claims| (claims, &SESSION_KEYS)))
    }

    /// The results that may still be read at `now`, and until when.
    fn each_result(
        &self,
        now: UnixMillis,
        mut take: impl FnMut(&str, UnixMillis) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let Some(claims) = &self.claims else { return Ok(0) };
        let mut statement = claims.prepare("SELECT session_id, redact_at FROM results")?;
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

/// Refuses an audit log that was altered.
fn verify(main: &Connection, keys: &AuditKeys) -> Result<(), StoreError> {
    let report = Auditor { log: &Rows { main, keys }, keys }.verify(None, &[], u64::MAX)?;
    if report.breaches.is_empty() {
        return Ok(());
    }
    Err(StoreError::Damaged(
        "the audit log of the data directory is not as it was; `idgate audit verify` says where, and \
         a backup has it as it was"
            .into(),
    ))
}
