//! The log as the operator verifies and exports it: the heads at one moment, and the entries up to them
//! in pages, so that no read keeps old rows from being vacuumed.

use std::collections::BTreeMap;
use std::future::Future;

use tokio_postgres::IsolationLevel;

use super::super::super::audit::proof::EntryRow;
use super::super::super::audit::report::{Chain, Log, Moment};
use super::super::super::interface::StoreError;
use super::super::super::sql::{number, unsigned};
use super::super::error::Done;
use super::super::pool::{Pool, Tx};
use super::super::sql::{row, rows};
use super::heads;
use super::page::entry;
use crate::audit::AuditKeys;

/// The log of one database.
pub(in crate::store) struct DatabaseLog<'c, W> {
    pub(in crate::store) pool: &'c Pool,
    pub(in crate::store) keys: &'c AuditKeys,
    /// Waits for what is asked of the database.
    pub(in crate::store) waiting: W,
}

/// Runs a future to its end, for whoever is not asynchronous.
pub(in crate::store) trait Waits {
    /// What it comes to.
    fn wait<T: Send>(&self, work: impl Future<Output = Done<T>> + Send) -> Result<T, StoreError>;
}

impl<W: Waits> Log for DatabaseLog<'_, W> {
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        self.waiting.wait(moment(self.pool, self.keys, client))
    }

    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError> {
        self.waiting.wait(entries(self.pool, client_id, bounds, limit))
    }
}

async fn moment(pool: &Pool, keys: &AuditKeys, client: Option<&str>) -> Done<Moment> {
    let mut connection = pool.client().await?;
    let moment = connection.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    // Of heads, entries, checkpoints and removals, since each may have been removed.
    let names = rows(
        &moment,
        "SELECT client_id FROM (SELECT client_id FROM audit_heads \
             UNION SELECT client_id FROM audit_entries \
             UNION SELECT client_id FROM audit_checkpoints \
             UNION SELECT client_id FROM audit_removals) AS named \
         WHERE $1::text IS NULL OR client_id = $1",
        &[&client],
    )
    .await?;
    let mut chains = BTreeMap::new();
    for name in names {
        let client_id: String = name.try_get(0)?;
        chains.insert(client_id.clone(), chain(&moment, keys, client_id).await?);
    }
    let without = rows(
        &moment,
        "SELECT id FROM clients WHERE ($1::text IS NULL OR id = $1) \
         AND id NOT IN (SELECT client_id FROM audit_heads)",
        &[&client],
    )
    .await?;
    let without = without.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>();
    // One with entries and no head is found where its chain ends.
    let without_chain = without?.into_iter().filter(|id| !chains.contains_key(id)).collect();
    let total = heads::total(&moment, keys).await?;
    Ok(Moment { chains, total, without_chain })
}

async fn chain(moment: &Tx<'_>, keys: &AuditKeys, client_id: String) -> Done<Chain> {
    let head = format!("SELECT {} FROM audit_heads WHERE client_id = $1", heads::COLUMNS);
    let head = row(moment, &head, &[&client_id]).await?;
    let head = head.map(|row| heads::from_row(keys, &row)).transpose()?;
    let found = row(
        moment,
        "SELECT (SELECT max(seq) FROM audit_entries WHERE client_id = $1), \
         (SELECT signed FROM audit_removals WHERE client_id = $1)",
        &[&client_id],
    )
    .await?;
    let (last, removal) = match found {
        Some(row) => (row.try_get::<_, Option<i64>>(0)?, row.try_get(1)?),
        None => (None, None),
    };
    let checkpoints = rows(
        moment,
        "SELECT signed FROM audit_checkpoints WHERE client_id = $1 ORDER BY seq",
        &[&client_id],
    )
    .await?;
    let checkpoints = checkpoints.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok(Chain { client_id, head, last: unsigned(last.unwrap_or(0)), checkpoints, removal })
}

async fn entries(
    pool: &Pool,
    client_id: &str,
    (first, last): (i64, u64),
    limit: usize,
) -> Done<Vec<EntryRow>> {
    let client = pool.client().await?;
    let found = rows(
        &client,
        "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
         WHERE client_id = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq LIMIT $4",
        &[&client_id, &first, &number(last), &number(limit)],
    )
    .await?;
    found.iter().map(entry).collect()
}
