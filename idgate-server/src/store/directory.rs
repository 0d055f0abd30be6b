//! The data directory: made private, guarded by a lock and by the instance key.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

use super::StoreError;
use super::schema::main_path;
use crate::seal::{InstanceKey, Sealer};

const CHECK: &str = "key_check";
const KEY_FILE: &str = "instance.key";

/// Makes the directory with mode 0700 when there is none.
pub(super) fn create(dir: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        StoreError::Failed(format!(
            "the data directory {} cannot be made: {error}; set IDGATE_DATA_DIR",
            dir.display()
        ))
    })
}

/// What of an existing data directory others than its owner may read; a line for each.
pub fn exposed(dir: &Path) -> Vec<String> {
    let shared = |path: &Path| {
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        let line = format!("{} can be read by others; chmod go= it", path.display());
        (mode & 0o044 != 0).then_some(line)
    };
    [dir, &dir.join(KEY_FILE)].into_iter().filter_map(shared).collect()
}

/// Keeps a second server away as long as the file is held.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("serve.lock");
    let failed = |why: &dyn std::fmt::Display| {
        StoreError::Failed(format!("{} cannot be locked: {why}", path.display()))
    };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Failed(format!(
            "another server runs on the data directory {}; stop it, or set IDGATE_DATA_DIR",
            dir.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// The given instance key, or the one of the directory. A database without its key is not given a
/// new one: nothing in it could be opened.
pub(super) fn instance_key(
    dir: &Path,
    given: Option<&InstanceKey>,
) -> Result<InstanceKey, StoreError> {
    if let Some(key) = given {
        return Ok(key.clone());
    }
    let path = dir.join(KEY_FILE);
    if main_path(dir).exists() && !path.exists() {
        return Err(StoreError::Failed(format!(
            "{} is missing; restore it, or set IDGATE_INSTANCE_KEY to the key of this data directory",
            path.display()
        )));
    }
    InstanceKey::load_or_create(&path).map_err(StoreError::Failed)
}

/// The given instance key, or the one of the directory if it is there; none is made.
pub(super) fn existing_key(
    dir: &Path,
    given: Option<&InstanceKey>,
) -> Result<Option<InstanceKey>, StoreError> {
    let path = dir.join(KEY_FILE);
    match given {
        Some(key) => Ok(Some(key.clone())),
        None if !path.exists() => Ok(None),
        None => InstanceKey::load_or_create(&path).map(Some).map_err(StoreError::Failed),
    }
}

/// Refuses another key than the one that the database was made with.
pub(super) fn check_key(main: &Connection, sealer: &Sealer) -> Result<(), StoreError> {
    let mut stored = stored_check(main)?;
    if stored.is_none() {
        let sealed = sealer.seal("instance", CHECK, b"idgate")?;
        main.execute("INSERT OR IGNORE INTO instance VALUES (?1, ?2)", (CHECK, sealed))?;
        // Another process may have come first, with another key.
        stored = stored_check(main)?;
    }
    open_check(sealer, &stored.unwrap_or_default())
}

/// The same without a change: a database that no key is known of yet takes any.
pub(super) fn require_key(main: &Connection, sealer: &Sealer) -> Result<(), StoreError> {
    match stored_check(main)? {
        Some(stored) => open_check(sealer, &stored),
        None => Ok(()),
    }
}

fn stored_check(main: &Connection) -> Result<Option<Vec<u8>>, StoreError> {
    let read = main.query_row("SELECT sealed FROM instance WHERE name = ?1", [CHECK], |r| r.get(0));
    Ok(read.optional()?)
}

fn open_check(sealer: &Sealer, stored: &[u8]) -> Result<(), StoreError> {
    sealer.open("instance", CHECK, stored).map(|_| ()).map_err(|_| {
        StoreError::Failed(
            "the instance key is not the one that this data directory was made with; \
             set IDGATE_INSTANCE_KEY, or restore instance.key, to that key"
                .into(),
        )
    })
}
