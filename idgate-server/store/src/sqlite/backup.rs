//! A copy of the main database that can be restored, made while the server runs.
//!
//! Sessions that are open at that time are left out: they may settle later, and a restored copy
//! must neither reopen them nor report them to a tenant as expired. Left out with them, and with
//! the answers under idempotency keys, are all nonces, states and session keys, and retired signing
//! keys, which sign for open sessions only. Results are in another file and are never copied.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use rusqlite::{Connection, OpenFlags};

use crate::audit_chain::hex;
use crate::sqlite::files::{main_path, open_for_reading};
use crate::types::StoreError;

/// A finished backup.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Backup {
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Its schema version.
    pub schema: u32,
}

/// Writes a backup of the data directory `dir` to `file`, with access for its owner only.
///
/// # Errors
/// There is no database, `file` exists already, or it cannot be written. The text says what to do.
pub fn back_up(dir: &Path, file: &Path) -> Result<Backup, StoreError> {
    let source = main_path(dir);
    if !source.is_file() {
        return Err(StoreError::Failed(format!(
            "there is no database {}; set IDGATE_DATA_DIR",
            source.display()
        )));
    }
    let source = open_for_reading(&source)?;
    let target = Target::claim(file)?;
    copy(&source, &target.draft)?;
    let schema = leave_out_open_sessions(&target.draft)?;
    target.publish(schema)
}

/// The reserved name of the backup, and the draft that will be renamed to it.
struct Target<'a> {
    file: &'a Path,
    draft: PathBuf,
    published: bool,
}

impl<'a> Target<'a> {
    /// Reserves the name before the work, so that of two backups to one name one fails.
    fn claim(file: &'a Path) -> Result<Self, StoreError> {
        create_private(file)?;
        let mut draft = file.as_os_str().to_owned();
        draft.push(format!(".draft-{}", std::process::id()));
        let target = Self { file, draft: draft.into(), published: false };
        create_private(&target.draft)?;
        Ok(target)
    }

    fn publish(mut self, schema: u32) -> Result<Backup, StoreError> {
        let failed = |error| cannot_write(self.file, &error);
        let mut draft = File::open(&self.draft).map_err(failed)?;
        draft.sync_all().map_err(failed)?;
        let (bytes, sha256) = digest(&mut draft).map_err(failed)?;
        std::fs::rename(&self.draft, self.file).map_err(failed)?;
        self.published = true;
        sync_directory(self.file).map_err(|error| cannot_write(self.file, &error))?;
        Ok(Backup { bytes, sha256, schema })
    }
}

impl Drop for Target<'_> {
    /// Removes what a failed backup wrote.
    fn drop(&mut self) {
        if !self.published {
            let _ = std::fs::remove_file(&self.draft);
            let _ = std::fs::remove_file(self.file);
        }
    }
}

fn create_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map(drop).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> StoreError {
    let what = match error.kind() {
        std::io::ErrorKind::AlreadyExists => "exists already; give another name".to_owned(),
        _ => format!("cannot be written: {error}"),
    };
    StoreError::Failed(format!("{} {what}", path.display()))
}

fn copy(source: &Connection, draft: &Path) -> Result<(), StoreError> {
    let path = draft.to_str().ok_or_else(|| {
        StoreError::Failed(format!("{} is not text; give another name", draft.display()))
    })?;
    source.execute("VACUUM INTO ?1", [path])?;
    Ok(())
}

/// Erases open sessions from the copy and checks that it is intact. Returns its schema version.
fn leave_out_open_sessions(draft: &Path) -> Result<u32, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(draft, flags)?;
    // The journal is in memory: on disk it would keep the erased rows.
    copy.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON;",
    )?;
    // Databases of earlier versions do not have this table.
    if copy.table_exists(None, "left_out")? {
        copy.execute(
            "INSERT OR IGNORE INTO left_out SELECT id FROM sessions WHERE settled_at IS NULL",
            [],
        )?;
    }
    copy.execute("DELETE FROM sessions WHERE settled_at IS NULL", [])?;
    if copy.table_exists(None, "idempotent_answers")? {
        copy.execute("DELETE FROM idempotent_answers", [])?;
    }
    if copy.table_exists(None, "reports")? {
        copy.execute("DELETE FROM reports", [])?;
    }
    if copy.table_exists(None, "gateway_keys")? {
        copy.execute("UPDATE gateway_keys SET sealed = NULL WHERE retired_at IS NOT NULL", [])?;
    }
    let state: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(StoreError::Failed(format!(
            "the database is damaged ({state}); run `idgate doctor`, and keep the last good backup"
        )));
    }
    Ok(copy.query_row("SELECT max(number) FROM schema_migrations", [], |row| row.get(0))?)
}

fn digest(file: &mut File) -> std::io::Result<(u64, String)> {
    let (mut context, mut bytes) = (Context::new(&SHA256), 0u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { break };
        context.update(part);
        bytes = bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok((bytes, hex(context.finish().as_ref())))
}

/// Makes the name durable, so that a power failure cannot undo it.
fn sync_directory(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::seal::InstanceKey;
    use crate::sqlite::schema;

    fn directory() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let main = schema::open_main(dir.path(), &InstanceKey::generate().unwrap()).unwrap();
        main.execute_batch(
            "INSERT INTO clients (id, name, livemode, signing_secret, created_at)
                 VALUES ('cli_1', 'shop', 1, x'00', 1);
             INSERT INTO sessions (id, client_id, livemode, status, revision, created_at,
                 expires_at, settled_at, formats, issuer_ids, record) VALUES
                 ('ses_open', 'cli_1', 1, 'PENDING', 1, 1, 9, NULL, '[]', '[]', CAST('OPENRECORD' AS BLOB)),
                 ('ses_done', 'cli_1', 1, 'FAILED', 2, 1, 9, 3, '[]', '[]', CAST('DONERECORD' AS BLOB));
             INSERT INTO idempotent_answers VALUES
                 ('cli_1', zeroblob(32), zeroblob(32), 'ses_done', 1, CAST('DONEANSWER' AS BLOB));",
        )
        .unwrap();
        dir
    }

    fn refusal(dir: &Path, file: &Path) -> String {
        match back_up(dir, file) {
            Err(StoreError::Failed(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn open_sessions_and_sealed_answers_are_in_no_byte_of_a_backup() {
        let dir = directory();
        let file = dir.path().join("backup.db");
        let made = back_up(dir.path(), &file).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(holds("ses_done") && holds("DONERECORD"));
        assert!(!holds("OPENRECORD") && !holds("DONEANSWER"));
        assert_eq!(made.bytes, u64::try_from(bytes.len()).unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert!(!left.iter().any(|entry| entry.path().to_string_lossy().contains("draft")));
    }

    #[test]
    fn a_backup_overwrites_nothing_and_a_failed_one_leaves_nothing() {
        let dir = directory();
        let file = dir.path().join("kept");
        std::fs::write(&file, "kept").unwrap();
        assert!(refusal(dir.path(), &file).contains("exists already"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        let nowhere = dir.path().join("no/such/folder");
        assert!(refusal(dir.path(), &nowhere).contains("cannot be written"));
        let empty = tempfile::tempdir().unwrap();
        let file = empty.path().join("backup.db");
        assert!(refusal(empty.path(), &file).contains("there is no database"));
        assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    }
}
