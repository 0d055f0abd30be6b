//! Trusted lists that were fetched, with what the audit log says of them.

use idgate_core::time::UnixMillis;

use super::error::Done;
use super::pool::Tx;
use super::sql::row;
use super::{audit, trust, trusted_lists};
use crate::audit::{AuditKeys, OPERATOR_CHAIN};
use crate::store::interface::{FetchedList, Refreshed};

/// Gives every entry that takes lists from there the one that was fetched, with an entry in the audit log
/// for each one that changed.
pub(in crate::store) async fn refresh_and_record(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    fetched: &FetchedList,
    by: (&str, UnixMillis),
) -> Done<Refreshed> {
    hold(tx).await?;
    let (outcome, events) = trusted_lists::refresh(tx, fetched, by).await?;
    if !events.is_empty() {
        trust::bump(tx).await?;
    }
    for event in events {
        audit::append(tx, keys, OPERATOR_CHAIN, event).await?;
    }
    Ok(outcome)
}

/// Waits until nobody else changes what is trusted, and keeps others waiting: whoever took something of
/// it before this would wait for one who has this.
pub(in crate::store) async fn hold(tx: &Tx<'_>) -> Done<()> {
    row(tx, "SELECT FROM trust_version FOR UPDATE", &[]).await.map(drop)
}
