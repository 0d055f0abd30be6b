//! Inspects the data directory: rows through SQLite, and raw bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// How many bytes of a text are searched for. Shorter texts could match by chance.
const PREFIX: usize = 8;

/// The number of rows of each table in each database.
pub(crate) fn row_counts(directory: &Path) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for database in databases(directory) {
        let connection = open(&database);
        for table in tables(&connection) {
            let sql = format!("SELECT count(*) FROM \"{table}\"");
            let count = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            counts.insert(format!("{}.{table}", name(&database)), count);
        }
    }
    assert!(!counts.is_empty(), "no tables below {}", directory.display());
    counts
}

/// The status events of a session, as numbers and names.
pub(crate) fn events(directory: &Path, session_id: &str) -> Vec<(i64, String)> {
    let database = open(&directory.join("idgate.db"));
    let sql = format!("SELECT key + 1, value ->> 0 {EVENTS} WHERE sessions.id = ?1 ORDER BY key");
    let mut statement = database.prepare(&sql).unwrap();
    let rows = statement.query_map([session_id], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// How many events of all sessions have this status.
pub(crate) fn events_with(directory: &Path, status: &str) -> usize {
    let database = open(&directory.join("idgate.db"));
    let sql = format!("SELECT count(*) {EVENTS} WHERE value ->> 0 = ?1");
    let count: i64 = database.query_row(&sql, [status], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

const EVENTS: &str = "FROM sessions, json_each('[' || rtrim(events, ',') || ']')";

/// The sealed results: every blob of `claims.db` that is long enough to hold claims.
pub(crate) fn sealed_results(directory: &Path) -> Vec<Vec<u8>> {
    let connection = open(&directory.join("claims.db"));
    let mut blobs = Vec::new();
    for table in tables(&connection) {
        let mut rows = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Blob(blob) = row.get_ref(column).unwrap() {
                    blobs.push(blob.to_vec());
                }
            }
        }
    }
    blobs.retain(|blob| blob.len() >= 64);
    blobs
}

/// The files that contain one of `needles`.
pub(crate) fn files_with(directory: &Path, needles: &[Vec<u8>]) -> Vec<PathBuf> {
    assert!(needles.iter().all(|needle| needle.len() >= PREFIX), "too short to mean anything");
    let mut by_prefix: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    for needle in needles {
        by_prefix.entry(&needle[..PREFIX]).or_default().push(needle);
    }
    let mut files = files(directory);
    // A file may disappear between listing and reading.
    files.retain(|file| contains(&fs::read(file).unwrap_or_default(), &by_prefix));
    files
}

/// Pieces of `blob`, without padding. Long rows are spread over pages, so a file may not contain
/// the whole blob at one place.
pub(crate) fn pieces(blob: &[u8]) -> Vec<Vec<u8>> {
    let random = |piece: &&[u8]| piece.len() == 24 && piece.iter().any(|byte| *byte != piece[0]);
    blob.chunks(24).filter(random).map(<[u8]>::to_vec).collect()
}

/// Every file below `directory`.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Whether `bytes` contains one of `needles`. They are looked up by their first bytes, in one pass.
fn contains(bytes: &[u8], needles: &HashMap<&[u8], Vec<&[u8]>>) -> bool {
    bytes.windows(PREFIX).enumerate().any(|(at, window)| {
        let candidates = needles.get(window).map(Vec::as_slice).unwrap_or_default();
        candidates.iter().any(|needle| bytes[at..].starts_with(needle))
    })
}

pub(crate) fn databases(directory: &Path) -> Vec<PathBuf> {
    let mut files = files(directory);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "db"));
    files
}

pub(crate) fn open(database: &Path) -> Connection {
    let connection =
        Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    connection
}

fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = connection.prepare(sql).unwrap();
    let names = tables.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
