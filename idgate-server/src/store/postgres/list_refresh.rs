//! Trusted lists that were fetched, with what the audit log says of them.

use idgate_core::time::UnixMillis;

use super::error::Done;
use super::pool::Tx;
use super::{audit, trust, trusted_lists};
use crate::audit::{AuditEvent, AuditKeys, OPERATOR_CHAIN};
use crate::store::interface::Refreshed;

/// Gives every entry that takes lists from `url` the one that was fetched there, with an entry in the audit log for each entry that changed, and how the fetch went.
pub(super) async fn refresh_and_record(
    tx: &Tx<'_>,
    keys: &AuditKeys,
    (url, token): (&str, &[u8]),
    accept_rollback: bool,
    (by, now): (&str, UnixMillis),
) -> Done<Refreshed> {
    let (outcome, changed) = trusted_lists::refresh(tx, url, token, accept_rollback, now).await?;
    trusted_lists::note_fetch(tx, url, outcome.failure(), now).await?;
    if !changed.is_empty() {
        trust::bump(tx).await?;
    }
    for issuer_id in &changed {
        let event = AuditEvent::trust_changed(issuer_id, now).by(by);
        audit::append(tx, keys, OPERATOR_CHAIN, event).await?;
    }
    Ok(outcome)
}
