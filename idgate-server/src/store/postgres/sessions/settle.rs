//! What a settlement writes besides the session's own row.

use idgate_core::session::Settlement;

use super::super::super::metrics::Measured;
use super::super::super::prepared::Prepared;
use super::super::error::Done;
use super::super::pool::Tx;
use super::super::shared::Shared;
use super::super::sql::{execute, prepare};
use super::super::{audit, claims, metrics, outbox, reports};
use crate::audit::AuditEvent;

const CLOSE: &str = "UPDATE open_sessions SET count = greatest(count - 1, 0) WHERE client_id = $1";

/// The slot of a result, until when it may be read, and itself.
pub(super) type Kept<'r> = (i16, i64, &'r [u8]);

/// What follows from a settlement. Statements that do not need one another's answers are sent together;
/// of several failures the first in their order counts, because the others only follow from it.
pub(super) async fn settle(
    shared: &Shared,
    prepared: &Prepared,
    tx: &Tx<'_>,
    (ended, result): (&Settlement<'_>, Option<Kept<'_>>),
) -> Done<()> {
    let client_id = ended.session.tenant().as_str();
    let measured = Measured::settled(ended, prepared.processing_us);
    if let Some(sealed) = &prepared.report {
        reports::insert(tx, ended, sealed).await?;
    }
    prepare(tx, &[CLOSE]).await?;
    prepare(tx, &audit::LOCKS).await?;
    let (kept, erased, closed, end, noticed, sums) = tokio::join!(
        keep(tx, ended, result),
        erase(tx, ended),
        close_session(tx, client_id),
        audit::lock(tx, &shared.audit, client_id),
        notify(shared, tx, prepared),
        metrics::take(tx, &measured),
    );
    kept.and(erased).and(closed)?;
    let end = end?;
    noticed?;
    let sums = sums?;
    let recorded = end.append(tx, &shared.audit, AuditEvent::settled(ended));
    let (recorded, summed) = tokio::join!(recorded, metrics::add(tx, sums, &measured));
    recorded.and(summed)
}

async fn keep(tx: &Tx<'_>, ended: &Settlement<'_>, result: Option<Kept<'_>>) -> Done<()> {
    let Some((slot, until, sealed)) = result else { return Ok(()) };
    claims::insert(tx, slot, (ended.session.id().as_str(), until), sealed).await
}

/// What no open session needs any more.
async fn erase(tx: &Tx<'_>, ended: &Settlement<'_>) -> Done<()> {
    let id = ended.session.id().as_str();
    if ended.session.offers().nth(1).is_some() {
        execute(tx, "DELETE FROM offers WHERE session_id = $1", &[&id]).await?;
    }
    if ended.spends_key() {
        execute(tx, "DELETE FROM session_keys WHERE session_id = $1", &[&id]).await?;
    }
    Ok(())
}

async fn notify(shared: &Shared, tx: &Tx<'_>, prepared: &Prepared) -> Done<()> {
    match &prepared.notice {
        Some(notice) => outbox::insert(shared, tx, notice).await,
        None => Ok(()),
    }
}

/// Counts one open session less.
pub(super) async fn close_session(tx: &Tx<'_>, client_id: &str) -> Done<()> {
    execute(tx, CLOSE, &[&client_id]).await?;
    Ok(())
}
