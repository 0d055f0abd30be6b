//! The data directory: private, and guarded by a lock and by the instance key.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use crate::db::{Db, at_once};
use crate::instance_keys::{self, Lock, not_of_directory};
use crate::key_check;
use crate::key_check::{CHECK, Check, FirstKey};
use crate::seal::first::FirstSealer;
use crate::seal::{InstanceKey, Sealer};
use crate::sqlite::files::{holds_anything, main_path};
use crate::types::StoreError;

/// The file that marks a sandbox's directory.
pub const SANDBOX_FILE: &str = "sandbox.json";

const KEY_FILE: &str = "instance.key";
const NEW_KEY_FILE: &str = "instance.key.new";

/// Creates the directory with mode 0700 if it does not exist.
pub(crate) fn create(dir: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        StoreError::Failed(format!(
            "the data directory {} cannot be made: {error}; set IDGATE_DATA_DIR",
            dir.display()
        ))
    })
}

/// The parts of an existing data directory that users other than its owner can read, one line for
/// each.
pub fn exposed(dir: &Path) -> Vec<String> {
    let shared = |path: &Path| {
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        let line = format!("{} can be read by others; chmod go= it", path.display());
        (mode & 0o044 != 0).then_some(line)
    };
    [dir, &dir.join(KEY_FILE)].into_iter().filter_map(shared).collect()
}

/// Prevents a second server from starting as long as the file is held.
pub(crate) fn lock(dir: &Path) -> Result<File, StoreError> {
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

/// The instance key of a directory that is about to be opened.
pub(crate) struct DirectoryKey {
    pub(crate) key: InstanceKey,
    /// The temporary file of a new directory's key, until the database that it belongs to exists.
    new: Option<PathBuf>,
}

impl DirectoryKey {
    /// The given instance key, or that of the directory, or a new one for a directory that was
    /// never used.
    ///
    /// # Errors
    /// The directory was used, and its key or its database is missing. Neither is created again,
    /// since the other one would be useless with it.
    pub(crate) fn find(dir: &Path, given: Option<&InstanceKey>) -> Result<Self, StoreError> {
        require_database(dir)?;
        if let Some(key) = given {
            return Ok(Self { key: key.clone(), new: None });
        }
        let (path, new) = (dir.join(KEY_FILE), dir.join(NEW_KEY_FILE));
        let load = |path: &Path| InstanceKey::load_or_create(path).map_err(StoreError::Failed);
        if path.exists() {
            return Ok(Self { key: load(&path)?, new: None });
        }
        if !new.exists() && holds_anything(dir)? {
            return Err(StoreError::Failed(format!(
                "{} is missing; restore it, or set IDGATE_INSTANCE_KEY to the key of this data \
                 directory",
                path.display()
            )));
        }
        let key = load(&new)?;
        // Another process may have been first and be done.
        if path.exists() {
            let _ = std::fs::remove_file(&new);
            return Ok(Self { key: load(&path)?, new: None });
        }
        Ok(Self { key, new: Some(new) })
    }

    /// Gives a new key its final name. Call it when the database exists and has the key's check:
    /// from here on a missing key or database counts as lost.
    pub(crate) fn keep(&self, dir: &Path) -> Result<(), StoreError> {
        let Some(new) = &self.new else { return Ok(()) };
        let path = dir.join(KEY_FILE);
        let kept = match std::fs::hard_link(new, &path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.and_then(|()| File::open(dir)?.sync_all()),
        };
        kept.map_err(|error| {
            StoreError::Failed(format!("{} cannot be written: {error}", path.display()))
        })?;
        let _ = std::fs::remove_file(new);
        Ok(())
    }
}

/// Rejects a directory that was used and has lost its database.
///
/// # Errors
/// The text says what to do.
pub(crate) fn require_database(dir: &Path) -> Result<(), StoreError> {
    // In this order: a process that is just creating the directory creates the database first.
    let Some(trace) = trace_of_use(dir) else { return Ok(()) };
    let path = main_path(dir);
    if holds_anything(dir)? {
        return Ok(());
    }
    let state = if path.exists() { "is empty" } else { "is missing" };
    Err(StoreError::Damaged(format!(
        "{} {state}, but {trace} says that this data directory was used: restore the database from \
         a backup (docs/backup.md, \"Restore\"); to start over, set IDGATE_DATA_DIR \
         to an empty directory",
        path.display()
    )))
}

/// A file that only a used directory has. Each of these is created after the database.
fn trace_of_use(dir: &Path) -> Option<&'static str> {
    let has = |name: &&&str| std::fs::metadata(dir.join(name)).is_ok_and(|file| file.len() > 0);
    [KEY_FILE, "claims.db", "idgate.db-wal"].iter().find(has).copied()
}

/// Rejects a main database other than the one that `claims` was used with. A new `claims` is bound
/// to it.
///
/// # Errors
/// The text says what to do.
pub(crate) fn same_database(main: &Connection, claims: &Connection) -> Result<(), StoreError> {
    let ours: Vec<u8> =
        main.query_row("SELECT sealed FROM instance WHERE name = 'database_id'", [], |row| {
            row.get(0)
        })?;
    let known = claims.query_row("SELECT database_id FROM belongs_to", [], |row| row.get(0));
    match known.optional()? {
        Some(id) if ours == Vec::<u8>::as_slice(&id) => Ok(()),
        None => {
            claims.execute("INSERT INTO belongs_to VALUES (?1)", [ours])?;
            Ok(())
        }
        Some(_) => Err(StoreError::Damaged(
            "idgate.db is not the database that this data directory was used with: claims.db \
             belongs to another one; restore that one, or use this one in a directory without \
             claims.db"
                .into(),
        )),
    }
}

/// The given instance key, or that of the directory if it exists. None is created.
pub(crate) fn existing_key(
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

/// Replaces the check of the key that idgate 0.1.0 stored. `false`: there is none yet.
///
/// # Errors
/// It is the check of another key: nothing may be changed with this one.
pub(crate) fn reseal_check(
    main: &Connection,
    old: &FirstSealer,
    new: &Sealer,
) -> Result<bool, StoreError> {
    let Some((_, stored)) = checks(main)?.pop() else { return Ok(false) };
    old.open("instance", CHECK, &stored).map_err(|_| not_of_directory())?;
    let sealed = key_check::seal(new, CHECK)?;
    main.execute("UPDATE instance SET sealed = ?2 WHERE name = ?1", (CHECK, sealed))?;
    Ok(true)
}

/// Rejects a key other than the one with which 0.1.0 created the database. Changes nothing.
pub(crate) fn require_first_key(main: &Connection, old: &FirstSealer) -> Result<(), StoreError> {
    for (name, stored) in checks(main)? {
        old.open("instance", &name, &stored).map_err(|_| not_of_directory())?;
    }
    Ok(())
}

/// A transaction of a command. If it seals something, it also stores the check of the key that
/// seals.
pub(crate) struct Change<'c> {
    transaction: Transaction<'c>,
    first: &'c FirstKey,
}

impl<'c> Change<'c> {
    /// Begins the transaction.
    pub(crate) fn begin(main: &'c Connection, first: &'c FirstKey) -> Result<Self, StoreError> {
        let transaction = Transaction::new_unchecked(main, TransactionBehavior::Immediate)?;
        Ok(Self { transaction, first })
    }

    pub(crate) fn commit(self) -> Result<(), StoreError> {
        let due = self.first.due();
        if let Some(check) = due {
            note(&self.transaction, check)?;
        }
        self.transaction.commit()?;
        if due.is_some() {
            self.first.is_noted();
        }
        Ok(())
    }
}

impl<'c> Deref for Change<'c> {
    type Target = Transaction<'c>;

    fn deref(&self) -> &Self::Target {
        &self.transaction
    }
}

/// Read-only: a database with no known key accepts any.
pub(crate) fn require_key(main: &Connection, sealer: &Sealer) -> Result<(), StoreError> {
    at_once(instance_keys::require_key(&Db::sqlite(main), sealer))
}

fn checks(main: &Connection) -> Result<Vec<Check>, StoreError> {
    at_once(instance_keys::checks(&Db::sqlite(main), Lock::None))
}

/// Notes that something is sealed with a key.
pub(crate) fn note(main: &Connection, check: &Check) -> Result<(), StoreError> {
    at_once(instance_keys::note(&Db::sqlite(main), check))
}
