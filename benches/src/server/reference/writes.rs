//! The durable writes that the specification demands of a flow, in rusqlite alone: the session, its
//! steps, its result in the second file, and the audit entry with the head of its chain.

use cpu_time::ThreadTime;
use rusqlite::{Connection, Transaction};
use tempfile::TempDir;

use super::super::flow::Profile;
use super::super::row::count;

/// As long as idgate's sealed sessions and results, its audit entries and hashes.
const RECORD: [u8; 1100] = [b'x'; 1100];
const RESULT: [u8; 4041] = [b'x'; 4041];
const ENTRY: [u8; 300] = [b'x'; 300];
const HASH: [u8; 32] = [7; 32];

const TABLES: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, status INTEGER, expires_at INTEGER, record BLOB);
    CREATE TABLE audit_entries (client_id TEXT, seq INTEGER, fields BLOB, prev_hash BLOB,
        entry_hash BLOB, PRIMARY KEY (client_id, seq)) WITHOUT ROWID;
    CREATE TABLE audit_heads (client_id TEXT PRIMARY KEY, seq INTEGER, entry_hash BLOB, mac BLOB);
    CREATE TABLE claims.results (session_id TEXT PRIMARY KEY, erase_at INTEGER, sealed BLOB);
";

/// A change that is committed before the flow goes on.
#[derive(Clone, Copy)]
enum Step {
    Create,
    /// The wallet fetched the request.
    Fetch,
    Settle,
}

const fn steps(profile: Profile) -> &'static [Step] {
    match profile {
        Profile::Create => &[Step::Create],
        Profile::Jar => &[Step::Create, Step::Fetch, Step::Settle],
        _ => &[Step::Create, Step::Settle],
    }
}

/// Microseconds of CPU per flow, in commits of that many flows.
pub(super) fn measure(
    profile: Profile,
    flows_per_commit: f64,
    flows: usize,
) -> Result<f64, String> {
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let written = || -> rusqlite::Result<f64> {
        let mut connection = connect(&folder)?;
        let steps = steps(profile);
        let group = (count(steps.len()) * flows_per_commit).round().max(1.0);
        // The warm-up prepares the statements.
        let (mut next, mut used) = (0, 0.0);
        for (round, flows) in [flows / 10, flows].into_iter().enumerate() {
            let start = ThreadTime::now();
            let end = next + flows;
            while next < end {
                let until = end.min(next + at_least_one(group));
                for &step in steps {
                    let transaction = connection.transaction()?;
                    for flow in next..until {
                        write(&transaction, step, flow)?;
                    }
                    transaction.commit()?;
                }
                next = until;
            }
            if round == 1 {
                used = start.elapsed().as_secs_f64();
            }
        }
        Ok(used * 1e6 / count(flows))
    };
    written().map_err(|error| error.to_string())
}

/// The flows in a group: each commit holds one step of that many flows.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is at least 1")]
const fn at_least_one(group: f64) -> usize {
    group as usize
}

fn connect(folder: &TempDir) -> rusqlite::Result<Connection> {
    let connection = Connection::open(folder.path().join("main.db"))?;
    let claims = folder.path().join("claims.db");
    connection.execute("ATTACH ?1 AS claims", [claims.to_string_lossy()])?;
    for database in ["main", "claims"] {
        connection.pragma_update(Some(database), "journal_mode", "WAL")?;
        connection.pragma_update(Some(database), "synchronous", "FULL")?;
    }
    connection.execute_batch(TABLES)?;
    connection
        .execute("INSERT INTO audit_heads VALUES ('cli_bench', 0, ?1, ?1)", [HASH.as_slice()])?;
    Ok(connection)
}

fn write(transaction: &Transaction<'_>, step: Step, flow: usize) -> rusqlite::Result<()> {
    let id = id(flow);
    let execute = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        transaction.prepare_cached(sql)?.execute(values).map(drop)
    };
    let (record, result) = (RECORD.as_slice(), RESULT.as_slice());
    let (entry, hash) = (ENTRY.as_slice(), HASH.as_slice());
    match step {
        Step::Create => execute("INSERT INTO sessions VALUES (?1, 0, 0, ?2)", &[&id, &record]),
        Step::Fetch => execute("UPDATE sessions SET record = ?2 WHERE id = ?1", &[&id, &record]),
        Step::Settle => {
            let settled = "UPDATE sessions SET status = 1, record = ?2 WHERE id = ?1";
            execute(settled, &[&id, &record])?;
            execute("INSERT INTO claims.results VALUES (?1, 0, ?2)", &[&id, &result])?;
            let added = "INSERT INTO audit_entries SELECT client_id, seq + 1, ?1, entry_hash, ?2 \
                         FROM audit_heads WHERE client_id = 'cli_bench'";
            execute(added, &[&entry, &hash])?;
            let head = "UPDATE audit_heads SET seq = seq + 1, entry_hash = ?1, mac = ?1 \
                        WHERE client_id = 'cli_bench'";
            execute(head, &[&hash])
        }
    }
}

/// An id that is anywhere in its index, as random ids are.
fn id(flow: usize) -> String {
    let flow = u64::try_from(flow).unwrap_or_default();
    format!("ses_{:016x}", flow.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
