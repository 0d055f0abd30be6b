//! A client's own chain, newest entry first.

use tokio_postgres::{IsolationLevel, Row};

use super::super::super::audit::page;
use super::super::super::audit::proof::EntryRow;
use super::super::super::db::Db;
use super::super::super::interface::ListedEntry;
use super::super::error::Done;
use super::super::shared::Shared;

/// At most `limit` entries older than `before`, and the position of the last if there are more.
pub(in crate::store::postgres) async fn read(
    shared: &Shared,
    client_id: &str,
    before: i64,
    limit: usize,
) -> Done<(Vec<ListedEntry>, Option<i64>)> {
    let mut client = shared.pool.client().await?;
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    page::read(&Db::Transaction(&moment), &shared.audit, client_id, before, limit).await
}

/// A row of `seq`, `fields` and both hashes.
pub(super) fn entry(row: &Row) -> Done<EntryRow> {
    Ok(EntryRow {
        seq: row.try_get(0)?,
        fields: row.try_get(1)?,
        prev_hash: row.try_get(2)?,
        entry_hash: row.try_get(3)?,
    })
}
