//! The checks of `idgate doctor` on a data directory. They change nothing: no migration, no key, no
//! file.

mod deep;
mod wal;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use idgate_core::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use crate::audit::report::Auditor;
use crate::audit_chain::AuditKeys;
use crate::certificates;
use crate::certificates::CertificateRecord;
use crate::claims::FARTHEST_MS;
use crate::db::{Db, at_once};
pub use crate::finding::{Finding, Health};
use crate::gateway_key::Registration;
use crate::rekey::judge;
use crate::seal::first::FirstSealer;
use crate::seal::{InstanceKey, Sealer};
use crate::sql::{millis, time};
use crate::sqlite::audit::Rows;
use crate::sqlite::directory;
use crate::sqlite::files::{claims_path, main_path, open_for_reading};
use crate::sqlite::rekey;
use crate::sqlite::schema;
use crate::trust::{TrustRecord, entries};
use crate::types::StoreError;
use crate::{over_asking, registered, registrations};

/// Below this the disk is full soon: a day of a busy gateway, its log and a backup need about as
/// much.
const LOW_DISK_BYTES: u64 = 1 << 30;
/// Below this a burst's write-ahead log does not fit (64 MiB, twice).
const FULL_DISK_BYTES: u64 = 128 << 20;
/// An older pre-migration copy was forgotten: no session in it can still be open.
const OLD_COPY_MS: u64 = 7 * 86_400_000;
/// The tolerance for another host's clock, or a leap second.
const SKEW_MS: u64 = 60_000;
/// The most audit entries that a quick check walks, over all chains.
const LOOKED_AT: u64 = 20_000;
/// An earlier time means that the clock was never set: 2026-01-01.
const EARLIEST: UnixMillis = UnixMillis(1_767_225_600_000);

/// The results of examining a data directory.
#[derive(Debug, Default)]
pub struct Examination {
    /// In the order of the checks.
    pub findings: Vec<Finding>,
    /// The trust store, if it could be read.
    pub trust: Option<Vec<TrustRecord>>,
    /// The certificates of the gateway and its clients, if they could be read.
    pub certificates: Option<Vec<CertificateRecord>>,
}

/// Examines the data directory `dir`. `instance_key`: `None` means the one in it. `deep`: every
/// row.
pub fn examine(
    dir: &Path,
    instance_key: Option<&InstanceKey>,
    now: UnixMillis,
    deep: bool,
) -> Examination {
    let mut found = Examination::default();
    if !dir.is_dir() {
        let what = format!("there is no {}; set IDGATE_DATA_DIR", dir.display());
        found.findings.push(Finding::bad("data_directory", what));
        return found;
    }
    found.findings.push(permissions(dir));
    found.findings.push(disk(dir));
    let main = main_path(dir);
    if let Err(error) = directory::require_database(dir) {
        found.findings.push(Finding::bad("database", error.to_string()));
        found.findings.push(or_bad("results", results(dir, now)));
        return found;
    }
    if !main.is_file() {
        let what = "there is no database yet; `idgate client create` or `idgate serve` creates it";
        found.findings.push(Finding::warning("database", what));
        return found;
    }
    match open_for_reading(&main) {
        Ok(conn) => examine_main(&conn, dir, instance_key, (now, deep), &mut found),
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
    (now, deep): (UnixMillis, bool),
    found: &mut Examination,
) {
    found.findings.push(or_bad("database", integrity(main)));
    found.findings.extend(lost_commits(dir));
    found.findings.push(or_bad("claims_file", belongs_together(main, dir)));
    found.findings.push(or_bad("instance_key", key_matches(main, dir, instance_key)));
    let schema = schema_state(main);
    let current = matches!(&schema, Ok(finding) if finding.health == Health::Good);
    found.findings.push(or_bad("schema", schema));
    if current {
        found.findings.push(or_bad("clock", clock(main, now)));
        if let Ok(Some(key)) = directory::existing_key(dir, instance_key) {
            found.findings.push(or_bad("audit", audit_log(main, &key, deep)));
            if key.is_several() {
                found.findings.push(or_bad("instance_keys", sealed_elsewhere(main, dir, &key)));
            }
            if let Ok(sealer) = Sealer::new(&key) {
                let fault =
                    |error: StoreError| vec![Finding::bad("registrations", error.to_string())];
                found.findings.extend(over_asked(main, &sealer).unwrap_or_else(fault));
            }
            if let Some(sealer) = deep.then(|| Sealer::new(&key).ok()).flatten() {
                found.findings.extend(deep::look(main, &sealer, now));
            }
        }
        let fault = |error: StoreError| vec![Finding::bad("registrations", error.to_string())];
        found
            .findings
            .extend(at_once(registered::look(&Db::sqlite(main), now)).unwrap_or_else(fault));
        found.trust = at_once(entries::records(&Db::sqlite(main), None)).ok();
        match at_once(certificates::records(&Db::sqlite(main), None)) {
            Ok(records) => found.certificates = Some(records),
            Err(error) => found.findings.push(Finding::bad("certificates", error.to_string())),
        }
    }
}

/// Checks that only the owner has access to the directory and its files.
fn permissions(dir: &Path) -> Finding {
    let exposed = |path: &Path| {
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        (mode & 0o077 != 0).then(|| path.display().to_string())
    };
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let all: Vec<String> =
        exposed(dir).into_iter().chain(files.filter_map(|f| exposed(&f))).collect();
    if all.is_empty() {
        return Finding::good("permissions", "only the owner can use the directory and its files");
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
        0..FULL_DISK_BYTES => Finding::bad("disk", format!("{what}; free disk space immediately")),
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
        let what = "rows refer to rows that no longer exist; restore a backup";
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
    let (have, _) = schema::numbers(main)?;
    let is_of_the_first = 0 < have
        && have < schema::SEALED_ANEW
        && directory::require_first_key(main, &FirstSealer::new(&key)?).is_ok();
    if !is_of_the_first {
        directory::require_key(main, &Sealer::new(&key)?)?;
    }
    Ok(Finding::good("instance_key", "is the one that this directory was made with"))
}

fn schema_state(main: &Connection) -> Result<Finding, StoreError> {
    let (have, want) = schema::numbers(main)?;
    if have < want {
        let what = format!(
            "{have} is that of an older idgate; `idgate serve` makes a copy, idgate.db.before-{}, and \
             moves it to {want}",
            have.saturating_add(1)
        );
        return Ok(Finding::warning("schema", what));
    }
    Ok(Finding::good("schema", have.to_string()))
}

/// Checks that the clock is set, and not behind times in the database.
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
        let what = format!(
            "it is {now}, but the database has times up to {latest}; set the clock, and keep NTP \
             running"
        );
        return Ok(Finding::bad("clock", what));
    }
    Ok(Finding::good("clock", now.to_string()))
}

/// Checks that the audit log is unaltered: its heads, its length, and the newest entries of each
/// chain, or all with `deep`.
fn audit_log(main: &Connection, key: &InstanceKey, deep: bool) -> Result<Finding, StoreError> {
    let keys = AuditKeys::new(key)?;
    let clients: i64 = main.query_row("SELECT count(*) FROM clients", [], |row| row.get(0))?;
    let each = LOOKED_AT.checked_div(u64::try_from(clients).unwrap_or(0)).unwrap_or(1).max(1);
    let auditor = Auditor { log: &Rows { main, keys: &keys }, keys: &keys };
    let report = auditor.verify(None, &[], if deep { u64::MAX } else { each })?;
    let Some(first) = report.breaches.first() else {
        let what = format!("{} chains, {} entries looked at", report.chains, report.entries);
        return Ok(Finding::good("audit", what));
    };
    let whose = first.client_id.as_deref().unwrap_or("all chains");
    Ok(Finding::bad(
        "audit",
        format!(
            "it was altered ({whose}, entry {}: {}); `idgate audit verify` says where, and a \
             backup has it as it was",
            first.seq,
            first.damage.as_str()
        ),
    ))
}

/// How many values still need a key other than the one that seals.
fn sealed_elsewhere(
    main: &Connection,
    dir: &Path,
    key: &InstanceKey,
) -> Result<Finding, StoreError> {
    let (path, sealer, audit) = (claims_path(dir), Sealer::new(key)?, AuditKeys::new(key)?);
    let claims = path.is_file().then(|| open_for_reading(&path)).transpose()?;
    Ok(judge(rekey::count(main, claims.as_ref(), &sealer, &audit)?))
}

/// Checks that `claims.db` belongs to this database.
fn belongs_together(main: &Connection, dir: &Path) -> Result<Finding, StoreError> {
    let path = claims_path(dir);
    if !path.is_file() {
        return Ok(Finding::good("claims_file", "there is none yet"));
    }
    let Ok(claims) = open_for_reading(&path) else {
        // Another check reports what is wrong with it.
        return Ok(Finding::good("claims_file", "cannot be asked"));
    };
    let of = |conn: &Connection, sql: &str| -> Result<Option<Vec<u8>>, StoreError> {
        match conn.query_row(sql, [], |row| row.get(0)).optional() {
            Ok(id) => Ok(id),
            // From an earlier version, or damaged.
            Err(_) => Ok(None),
        }
    };
    let known = of(&claims, "SELECT database_id FROM belongs_to")?;
    let ours = of(main, "SELECT sealed FROM instance WHERE name = 'database_id'")?;
    Ok(if known.is_some() && known != ours {
        let what = "claims.db belongs to another idgate.db: put that one back, or restore to a \
                    directory of its own";
        Finding::bad("claims_file", what)
    } else {
        Finding::good("claims_file", "belongs to this database")
    })
}

/// Checks that the write-ahead log can be read to its end.
fn lost_commits(dir: &Path) -> Option<Finding> {
    let lost = wal::lost_commits(&main_path(dir)).ok()?;
    (lost > 0).then(|| {
        let what = format!(
            "its log is damaged: {lost} commits or more cannot be read, and the next start \
             continues without them; stop the server, keep a copy of the directory, and compare \
             with a backup"
        );
        Finding::bad("database_log", what)
    })
}

/// Checks that results are erased when their 30 seconds are over.
fn results(dir: &Path, now: UnixMillis) -> Result<Finding, StoreError> {
    let path = claims_path(dir);
    if !path.is_file() {
        return Ok(Finding::good("results", "none are stored"));
    }
    let claims = open_for_reading(&path)?;
    let damaged = integrity(&claims)?;
    if damaged.health != Health::Good {
        let what = "claims.db is damaged; restart the server, which sets it aside: results that \
             were not read yet are lost, and so are open sessions in request mode jar";
        return Ok(Finding::bad("results", what));
    }
    let due = millis(UnixMillis(now.0.saturating_sub(SKEW_MS)));
    let never = millis(now.plus(FARTHEST_MS).plus(SKEW_MS));
    let overdue: i64 = claims.query_row(
        "SELECT count(*) FROM results WHERE redact_at < ?1 OR redact_at > ?2",
        [due, never],
        |row| row.get(0),
    )?;
    if overdue > 0 {
        let what = format!("{overdue} are overdue: start the server, which erases them first");
        return Ok(Finding::bad("results", what));
    }
    Ok(Finding::good("results", "none is overdue"))
}

/// Finds copies from before a migration, which are needed only until the upgrade has proved itself.
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

/// Checks the sessions of clients with a registration certificate.
fn over_asked(main: &Connection, sealer: &Sealer) -> Result<Vec<Finding>, StoreError> {
    let db = Db::sqlite(main);
    let registered = at_once(registrations::read(&db))?;
    let look = |registration: &Registration| at_once(over_asking::look(&db, sealer, registration));
    registered.iter().map(look).collect()
}
