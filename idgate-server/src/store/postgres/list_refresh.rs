//! Trusted lists that were fetched, with what the audit log says of them.

use idgate_core::time::UnixMillis;

use super::error::Done;
use super::pool::Tx;
use super::{audit, trust, trusted_lists};
use crate::audit::{AuditKeys, OPERATOR_CHAIN};
use crate::store::interface::{FetchedList, Refreshed};

/// Gives every entry that takes lists from there the one that was fetched, with an entry in the audit log
/// for each one that changed.
pub(super) async fn refresh_and_record(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    fetched: &FetchedList,
    by: (&str, UnixMillis),
) -> Done<Refreshed> {
    let (outcome, events) = trusted_lists::refresh(tx, fetched, by).await?;
    if !events.is_empty() {
        trust::bump(tx).await?;
    }
    for event in events {
        audit::append(tx, keys, OPERATOR_CHAIN, event).await?;
    }
    Ok(outcome)
}
