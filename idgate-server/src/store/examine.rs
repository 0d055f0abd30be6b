//! What `idgate doctor` sees of a data directory. Nothing is changed: no migration, no key, no file.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::schema::{self, claims_path, main_path, open_for_reading};
use super::trust::{self, TrustRecord};
use super::{StoreError, directory, time};
use crate::seal::{InstanceKey, Sealer};

/// Less than this is soon full: a day of a busy gateway, its log and a backup need about that much.
const LOW_DISK_BYTES: u64 = 1 << 30;
/// Less than this does not hold a burst's write-ahead log (64 MiB, twice).
const FULL_DISK_BYTES: u64 = 128 << 20;
/// A copy from before a migration that is older was forgotten: no session in it may live as long.
const OLD_COPY_MS: u64 = 7 * 86_400_000;
/// What another host's clock, or a leap, may differ by.
const SKEW_MS: u64 = 60_000;
/// Before this, the clock was never set: 2026-01-01.
const EARLIEST: UnixMillis = UnixMillis(1_767_225_600_000);

/// How one thing was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Health {
    /// As it should be.
    Good,
    /// Works, but an operator should look at it.
    Warning,
    /// Does not work, or is not safe.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Its stable name.
    pub check: &'static str,
    /// How it was found.
    pub health: Health,
    /// What was found and, unless it is good, what to do.
    pub message: String,
}

impl Finding {
    /// As it should be.
    pub fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Good, message: message.into() }
    }

    /// For an operator to look at.
    pub fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Warning, message: message.into() }
    }

    /// To be mended.
    pub fn bad(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Bad, message: message.into() }
    }
}

/// A data directory as it was found.
#[derive(Debug, Default)]
pub struct Examination {
    /// In the order of the checks.
    pub findings: Vec<Finding>,
    /// The trust store, when it could be read.
    pub trust: Option<Vec<TrustRecord>>,
}

/// Looks at the data directory `dir`. `instance_key`: `None` means the one in it.
pub fn examine(dir: &Path, instance_key: Option<&InstanceKey>, now: UnixMillis) -> Examination {
    let mut found = Examination::default();
    if !dir.is_dir() {
        let what = format!("there is no {}; set IDGATE_DATA_DIR", dir.display());
        found.findings.push(Finding::bad("data_directory", what));
        return found;
    }
    found.findings.push(permissions(dir));
    found.findings.push(disk(dir));
    let main = main_path(dir);
    if !main.is_file() {
        let what = "there is no database yet; `idgate client create` or `idgate serve` makes it";
        found.findings.push(Finding::warning("database", what));
        return found;
    }
    match open_for_reading(&main) {
        Ok(conn) => examine_main(&conn, dir, instance_key, now, &mut found),
        Err(error) => found.findings.push(Finding::bad("database", error.to_string())),
    }
    found.findings.push(or_bad("results", results(dir, now)));
    found.findings.extend(old_copies(dir, now));
    found
}

fn examine_main(
    main: &Connection,
    dir: &Path,
    instance_key: Option<&InstanceKey>,
    now: UnixMillis,
    found: &mut Examination,
) {
    found.findings.push(or_bad("database", integrity(main)));
    found.findings.push(or_bad("instance_key", key_matches(main, dir, instance_key)));
    let schema = schema_state(main);
    let current = matches!(&schema, Ok(finding) if finding.health == Health::Good);
    found.findings.push(or_bad("schema", schema));
    if current {
        found.findings.push(or_bad("clock", clock(main, now)));
        found.trust = trust::records(main).ok();
    }
}

/// The directory and every file in it are their owner's alone.
fn permissions(dir: &Path) -> Finding {
    let exposed = |path: &Path| {
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        (mode & 0o077 != 0).then(|| path.display().to_string())
    };
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let all: Vec<String> =
        exposed(dir).into_iter().chain(files.filter_map(|f| exposed(&f))).collect();
    if all.is_empty() {
        return Finding::good("permissions", "directory and files are their owner's alone");
    }
    Finding::bad("permissions", format!("others may use {}; chmod go= them", all.join(", ")))
}

fn disk(dir: &Path) -> Finding {
    let free = match rustix::fs::statvfs(dir) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Finding::warning("disk", format!("cannot be asked: {error}")),
    };
    let what = format!("{} MiB free", free >> 20);
    match free {
        0..FULL_DISK_BYTES => Finding::bad("disk", format!("{what}; make room at once")),
        FULL_DISK_BYTES..LOW_DISK_BYTES => Finding::warning("disk", format!("{what}; make room")),
        _ => Finding::good("disk", what),
    }
}

fn integrity(conn: &Connection) -> Result<Finding, StoreError> {
    let state: String = conn.query_row("PRAGMA integrity_check(3)", [], |row| row.get(0))?;
    if state != "ok" {
        let what = format!("it is damaged ({state}); stop the server and restore a backup");
        return Ok(Finding::bad("database", what));
    }
    let orphans = conn.prepare("PRAGMA foreign_key_check")?.exists([])?;
    if orphans {
        let what = "rows point at rows that are gone; restore a backup";
        return Ok(Finding::bad("database", what));
    }
    Ok(Finding::good("database", "whole"))
}

fn key_matches(
    main: &Connection,
    dir: &Path,
    given: Option<&InstanceKey>,
) -> Result<Finding, StoreError> {
    let Some(key) = directory::existing_key(dir, given)? else {
        let what = "there is none; restore instance.key, or set IDGATE_INSTANCE_KEY";
        return Ok(Finding::bad("instance_key", what));
    };
    directory::require_key(main, &Sealer::new(&key)?)?;
    Ok(Finding::good("instance_key", "is the one that this directory was made with"))
}

fn schema_state(main: &Connection) -> Result<Finding, StoreError> {
    let (have, want) = schema::numbers(main)?;
    if have < want {
        let what = format!("{have}; the next start makes a copy and moves it to {want}");
        return Ok(Finding::warning("schema", what));
    }
    Ok(Finding::good("schema", have.to_string()))
}

/// The clock is set, and not behind what the database has seen already.
fn clock(main: &Connection, now: UnixMillis) -> Result<Finding, StoreError> {
    let latest: Option<i64> = main.query_row(
        "SELECT max(at) FROM (SELECT max(created_at) AS at FROM sessions \
         UNION ALL SELECT max(settled_at) FROM sessions \
         UNION ALL SELECT max(created_at) FROM clients)",
        [],
        |row| row.get(0),
    )?;
    let latest = latest.map_or(EARLIEST, time);
    if latest.0 > now.0.saturating_add(SKEW_MS) || now < EARLIEST {
        let what = format!("it is {now}, and {latest} has been before; set the clock, keep NTP on");
        return Ok(Finding::bad("clock", what));
    }
    Ok(Finding::good("clock", now.to_string()))
}

/// Results are gone when their 30 seconds are over.
fn results(dir: &Path, now: UnixMillis) -> Result<Finding, StoreError> {
    let path = claims_path(dir);
    if !path.is_file() {
        return Ok(Finding::good("results", "none are stored"));
    }
    let claims = open_for_reading(&path)?;
    let damaged = integrity(&claims)?;
    if damaged.health != Health::Good {
        let what =
            "claims.db is damaged; stop the server and delete it: open sessions are lost with it";
        return Ok(Finding::bad("results", what));
    }
    let due = super::millis(UnixMillis(now.0.saturating_sub(SKEW_MS)));
    let overdue: i64 =
        claims
            .query_row("SELECT count(*) FROM results WHERE redact_at < ?1", [due], |r| r.get(0))?;
    if overdue > 0 {
        let what =
            format!("{overdue} are overdue: start the server, which erases them first of all");
        return Ok(Finding::bad("results", what));
    }
    Ok(Finding::good("results", "none is overdue"))
}

/// Copies from before a migration: needed until the upgrade has proved itself, and no longer.
fn old_copies(dir: &Path, now: UnixMillis) -> Option<Finding> {
    let old = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let seconds = u64::try_from(path.metadata().ok()?.mtime()).ok()?;
        let age = now.since(UnixMillis::from_secs(seconds));
        (name.contains(".before-") && age > OLD_COPY_MS).then(|| path.display().to_string())
    };
    let files = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let old: Vec<String> = files.filter_map(|path| old(&path)).collect();
    (!old.is_empty()).then(|| {
        let what = format!("delete {}: sessions in it are past their time", old.join(", "));
        Finding::warning("old_copies", what)
    })
}

fn or_bad(check: &'static str, found: Result<Finding, StoreError>) -> Finding {
    found.unwrap_or_else(|error| Finding::bad(check, error.to_string()))
}
