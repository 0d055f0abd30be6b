//! Opens the file of results and session keys, and erases first: due results are gone before
//! anything else happens, even on a full disk. A damaged file is set aside.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idgate_core::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::claims;
use crate::sqlite::disk::Disk;
use crate::sqlite::files;
use crate::sqlite::files::claims_path;
use crate::types::StoreError;

/// How long a damaged file is kept. Longer, and claims in it would outlive their 30 seconds.
const SET_ASIDE_MS: u64 = 30_000;
/// The files that SQLite keeps for a database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// Erases what is due at `now`, if the file exists. A damaged file is set aside; that loses the
/// results of the last 30 seconds and the keys of open sessions, and nothing else.
///
/// # Errors
/// The file can neither be used nor set aside.
pub(crate) fn erase_first(dir: &Path, disk: &Disk, now: UnixMillis) -> Result<(), StoreError> {
    erase_set_aside(dir, now);
    if !claims_path(dir).exists() {
        return Ok(());
    }
    let mut erased = erase_due(dir, now);
    if matches!(erased, Err(StoreError::Full)) {
        disk.note(&erased);
        erased = erase_without_room(dir, now);
    }
    match erased {
        Err(StoreError::Damaged(why)) => set_aside(dir, &why, now),
        // Expired results cannot be read, and every purge tries again.
        Err(StoreError::Full) => {
            tracing::error!("results cannot be erased: the disk is full");
            Ok(())
        }
        erased => erased,
    }
}

/// Erases a damaged file permanently once nothing in it may be kept any longer.
pub(crate) fn erase_set_aside(dir: &Path, now: UnixMillis) {
    for path in SUFFIXES.map(|suffix| aside(dir, suffix)) {
        let Ok(modified) = path.metadata().and_then(|file| file.modified()) else { continue };
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let since = UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        // A time in the future was noted before the clock was set back.
        if now.since(since) >= SET_ASIDE_MS || since > now {
            wipe(&path);
        }
    }
}

/// Truncates the log of the results while no other process can have the file open.
pub(crate) fn empty_log(claims: &Connection) -> Result<(), StoreError> {
    if files::truncate_log(claims)? {
        return Ok(());
    }
    Err(StoreError::Failed(
        "claims.db is open in another program; close it, then start again".into(),
    ))
}

fn erase_due(dir: &Path, now: UnixMillis) -> Result<(), StoreError> {
    let claims = files::open_claims(dir)?;
    let state: String = claims.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(StoreError::Damaged(state));
    }
    claims::remove_due(&claims, now)?;
    empty_log(&claims)
}

/// The same without room for a log. Reads the rows that may stay, overwrites and removes the files,
/// and writes new ones into the freed room.
fn erase_without_room(dir: &Path, now: UnixMillis) -> Result<(), StoreError> {
    let kept = Kept::read(dir, now)?;
    for suffix in SUFFIXES {
        wipe(&beside(claims_path(dir), suffix));
    }
    kept.write(dir)
}

/// The rows that may stay in the file.
struct Kept {
    results: Vec<(String, i64, Vec<u8>)>,
    keys: Vec<(String, Vec<u8>)>,
    database_id: Option<Vec<u8>>,
    version: i64,
}

impl Kept {
    fn read(dir: &Path, now: UnixMillis) -> Result<Self, StoreError> {
        let claims = files::open_for_reading(&claims_path(dir))?;
        let results = claims
            .prepare("SELECT session_id, redact_at, sealed FROM results")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<(_, i64, _)>, _>>()?;
        let keys = claims
            .prepare("SELECT session_id, sealed FROM session_keys")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let database_id = claims
            .query_row("SELECT database_id FROM belongs_to", [], |row| row.get(0))
            .optional()?;
        let version = claims.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let stays = |at: i64| !claims::is_due(at, now);
        let results = results.into_iter().filter(|(_, at, _)| stays(*at)).collect();
        Ok(Self { results, keys, database_id, version })
    }

    fn write(self, dir: &Path) -> Result<(), StoreError> {
        let mut claims = files::open_claims(dir)?;
        let transaction = claims.transaction()?;
        for row in self.results {
            transaction.prepare_cached("INSERT INTO results VALUES (?1, ?2, ?3)")?.execute(row)?;
        }
        for row in self.keys {
            transaction.prepare_cached("INSERT INTO session_keys VALUES (?1, ?2)")?.execute(row)?;
        }
        if let Some(id) = self.database_id {
            transaction.execute("INSERT INTO belongs_to VALUES (?1)", [id])?;
        }
        transaction.pragma_update(None, "user_version", self.version)?;
        Ok(transaction.commit()?)
    }
}

fn set_aside(dir: &Path, why: &str, now: UnixMillis) -> Result<(), StoreError> {
    for suffix in SUFFIXES {
        let (from, to) = (beside(claims_path(dir), suffix), aside(dir, suffix));
        if !from.exists() {
            continue;
        }
        wipe(&to);
        let moved = std::fs::rename(&from, &to);
        // The 30 seconds begin now, whenever the file was last written.
        let touched = moved.and_then(|()| {
            File::open(&to)?.set_modified(std::time::UNIX_EPOCH + Duration::from_millis(now.0))
        });
        touched.map_err(|error| {
            StoreError::Failed(format!("{} cannot be set aside: {error}", from.display()))
        })?;
    }
    tracing::error!(
        why,
        "claims.db is damaged and was set aside as claims.db.damaged, which is erased in 30 \
         seconds: results that were not read yet are lost, and open sessions in request mode jar \
         can no longer be answered"
    );
    Ok(())
}

fn aside(dir: &Path, suffix: &str) -> PathBuf {
    beside(dir.join("claims.db.damaged"), suffix)
}

fn beside(path: PathBuf, suffix: &str) -> PathBuf {
    let mut path = path.into_os_string();
    path.push(suffix);
    path.into()
}

/// Overwrites a file and removes it.
fn wipe(path: &Path) {
    let overwritten = OpenOptions::new().write(true).open(path).and_then(|mut file| {
        let zeros = vec![0; 1 << 16];
        let mut left = file.metadata()?.len();
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            file.write_all(zeros.get(..part).unwrap_or(&zeros))?;
            left = left.saturating_sub(u64::try_from(part).unwrap_or(u64::MAX));
        }
        file.sync_all()
    });
    let _ = overwritten.and_then(|()| std::fs::remove_file(path));
}
