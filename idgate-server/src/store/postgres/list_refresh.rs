//! Trusted lists that were fetched, with their entries in the audit log.

use idgate_core::time::UnixMillis;

use super::audit;
use super::error::Done;
use super::pool::Tx;
use crate::audit::{AuditKeys, OPERATOR_CHAIN};
use crate::store::db::Db;
use crate::store::interface::{FetchedList, Refreshed};
use crate::store::trust::listed_rows;

/// Gives every entry that takes lists from there the one that was fetched, with an entry in the audit log
/// for each one that changed.
pub(super) async fn refresh_and_record(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    fetched: &FetchedList,
    by: (&str, UnixMillis),
) -> Done<Refreshed> {
    let (outcome, events) = listed_rows::refresh(&Db::Transaction(tx), fetched, by).await?;
    for event in events {
        audit::append(tx, keys, OPERATOR_CHAIN, event).await?;
    }
    Ok(outcome)
}
