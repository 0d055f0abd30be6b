//! Stores changes of one client's sessions in one transaction, with all their consequences.
//!
//! Each database has its own SQL for settlements, because they are the hot path. Here claims are in
//! a ring of tables, one statement covers many changes, and locks are taken in the order of
//! `pool.rs`. The SQLite counterpart is `sqlite/session_rows.rs`.
//!
//! Statements that do not depend on each other's results are sent together. If several fail, the
//! first in order counts, because the others only follow from it.

use futures_util::future::join_all;
use idgate_core::Session;
use idgate_core::shell::Settlement;

use super::super::super::db::Db;
use super::super::super::metrics::{Measured, gains, hours};
use super::super::super::outbox::Notice;
use super::super::super::quotas::{CLOSE_SESSIONS, close_sessions};
use super::super::super::reports;
use super::super::super::sql::{millis, number};
use super::super::change::{Change, Stored};
use super::super::error::{Done, Failure};
use super::super::pool::Tx;
use super::super::shared::Shared;
use super::super::{audit, claims, outbox};
use super::insert;
use crate::audit_chain::AuditEvent;
use crate::postgres_statements::{execute, prepare, row};
use crate::version_numbers::numbers;

/// How long a result may be read after its settlement was written.
const RESULT_MS: i64 = 30_000;

const STEP: &str = concat!(
    "UPDATE sessions SET status = $3, revision = $4, lease_until = $5, node_id = $6, \
     settled_at = $7, reason = $8, latency_ms = $9, processing_us = coalesce($10, processing_us), \
     record = $11, events = events || $12, \
     claims_until = clock.until, claims_slot = (clock.until / $15) % $16 \
     FROM (SELECT CASE WHEN $13 THEN coalesce($14::bigint, clock_ms() + $17) END AS until) \
     AS clock WHERE id = $1 AND revision = $2 AND NOT ($18 AND EXISTS ( \
         SELECT FROM clients AS c WHERE c.id = sessions.client_id AND c.revoked_at IS NOT NULL)) \
     AND ($19::bigint IS NULL OR ($19, $20::bigint, $21::bigint) = (",
    numbers!(),
    ")) RETURNING claims_slot, claims_until"
);

/// A change that applies.
struct Step<'c> {
    change: &'c Change,
    settlement: Option<Settlement<'c>>,
    /// The result to store.
    kept: Option<claims::Kept<'c>>,
}

/// Stores changes of different sessions of one client.
///
/// # Errors
/// `NoRoom`: not all new sessions have room. Others as the database has them. Nothing may be
/// committed after an error.
pub(in crate::postgres) async fn store(
    shared: &Shared,
    tx: &Tx<'_>,
    changes: &[&Change],
) -> Done<Vec<Stored>> {
    let steps = take(shared, tx, changes).await?;
    let stored = steps.iter().map(|step| match step {
        Some(_) => Stored::Yes,
        None => Stored::LostRace,
    });
    let stored = stored.collect();
    let steps: Vec<Step<'_>> = steps.into_iter().flatten().collect();
    follow(shared, tx, &steps).await?;
    Ok(stored)
}

/// Updates the existing sessions, whose rows are locked in the order of their ids. `None` for each
/// session whose revision has changed.
async fn take<'c>(
    shared: &Shared,
    tx: &Tx<'_>,
    changes: &[&'c Change],
) -> Done<Vec<Option<Step<'c>>>> {
    prepare(tx, &[STEP]).await?;
    let mut ordered: Vec<(usize, &Change)> = changes.iter().copied().enumerate().collect();
    ordered.sort_by_key(|(_, change)| change.session().id().as_str());
    let taking = ordered.into_iter().map(|(at, change)| async move {
        let step = if change.is_new() {
            Ok(Some(Step { change, settlement: None, kept: None }))
        } else {
            move_one(shared, tx, change).await
        };
        (at, step)
    });
    let mut taken = join_all(taking).await;
    taken.sort_by_key(|(at, _)| *at);
    taken.into_iter().map(|(_, step)| step).collect()
}

async fn move_one<'c>(shared: &Shared, tx: &Tx<'_>, change: &'c Change) -> Done<Option<Step<'c>>> {
    let (session, prepared) = (change.session(), &change.prepared);
    let settlement = session.settlement();
    let ended = settlement.as_ref();
    let lease_until = session.phase().lease_until().map(millis);
    let result = prepared.result.as_ref();
    let numbers = prepared.basis.0;
    let erase_at = result.and_then(|(redact_at, _)| shared.env.lease_clock(*redact_at));
    let moved = row(
        tx,
        STEP,
        &[
            &session.id().as_str(),
            &number(prepared.from),
            &session.phase().status().as_str(),
            &number(session.revision().0),
            &lease_until,
            &lease_until.map(|_| &shared.env.node),
            &ended.map(|ended| millis(ended.at)),
            &ended.and_then(|ended| ended.reason).map(|reason| reason.as_str()),
            &ended.map(|ended| number(ended.latency_ms())),
            &prepared.processing_us.map(number),
            &prepared.record,
            &prepared.events,
            &result.is_some(),
            &erase_at,
            &claims::SLOT_MS,
            &claims::SLOTS,
            &RESULT_MS,
            &prepared.needs_client(),
            &numbers.map(|numbers| number(numbers.trust)),
            &numbers.map(|numbers| number(numbers.gateway_keys)),
            &numbers.map(|numbers| number(numbers.certificates)),
        ],
    )
    .await?;
    let Some(moved) = moved else { return Ok(None) };
    let kept = match result {
        Some((_, sealed)) => Some(claims::Kept {
            slot: moved.try_get(0)?,
            session_id: session.id().as_str(),
            erase_at: moved.try_get(1)?,
            sealed,
        }),
        None => None,
    };
    Ok(Some(Step { change, settlement, kept }))
}

/// Writes the consequences of the changes that apply.
async fn follow(shared: &Shared, tx: &Tx<'_>, steps: &[Step<'_>]) -> Done<()> {
    let events: Vec<AuditEvent> = steps.iter().filter_map(Step::event).collect();
    let Some(client_id) = steps.first().map(|step| step.session().tenant().as_str()) else {
        return Ok(());
    };
    if events.is_empty() {
        return Ok(());
    }
    let new: Vec<&Change> = steps.iter().map(|step| step.change).filter(|it| it.is_new()).collect();
    let db = Db::Transaction(tx);
    if let Some(first) = new.first()
        && !shared.env.quotas.open_sessions(&db, first.session(), new.len()).await?
    {
        return Err(Failure::NoRoom);
    }
    let measured: Vec<Measured> = steps.iter().filter_map(Step::measured).collect();
    let gains = gains(&measured);
    prepare(tx, &[&CLOSE_SESSIONS.for_postgres()]).await?;
    audit::prepare_locks(tx).await?;
    let (made, kept, erased, closed, end, noticed, sums) = tokio::join!(
        insert::rows(tx, &new),
        keep(tx, steps),
        erase(tx, steps),
        close_sessions(&db, client_id, measured.len()),
        audit::lock(tx, &shared.env.audit, client_id),
        notify(shared, tx, client_id, steps),
        hours::take(&db, &gains),
    );
    made.and(kept).and(erased).and(closed)?;
    let end = end?;
    noticed?;
    let sums = sums?;
    let (recorded, belongings, reported, summed) = tokio::join!(
        end.append(tx, &shared.env.audit, events),
        insert::belongings(tx, &new),
        report(tx, steps),
        hours::add(&db, sums, &gains),
    );
    recorded.and(belongings).and(reported).and(summed)
}

async fn keep(tx: &Tx<'_>, steps: &[Step<'_>]) -> Done<()> {
    let kept: Vec<&claims::Kept<'_>> = steps.iter().filter_map(|step| step.kept.as_ref()).collect();
    claims::insert(tx, &kept).await
}

/// Erases the data that only an open session needs.
async fn erase(tx: &Tx<'_>, steps: &[Step<'_>]) -> Done<()> {
    let ended = || steps.iter().filter_map(|step| step.settlement.as_ref());
    let named = ended().filter(|ended| ended.session.offers().nth(1).is_some());
    let locked = ended().filter(|ended| ended.spends_key());
    let offers =
        named.map(|ended| erase_of(tx, "DELETE FROM offers WHERE session_id = $1", ended.session));
    let keys = locked
        .map(|ended| erase_of(tx, "DELETE FROM session_keys WHERE session_id = $1", ended.session));
    let (offers, keys) = tokio::join!(join_all(offers), join_all(keys));
    offers.into_iter().chain(keys).collect()
}

async fn erase_of(tx: &Tx<'_>, sql: &str, session: &Session) -> Done<()> {
    execute(tx, sql, &[&session.id().as_str()]).await?;
    Ok(())
}

async fn notify(shared: &Shared, tx: &Tx<'_>, client_id: &str, steps: &[Step<'_>]) -> Done<()> {
    let notices = steps.iter().filter_map(|step| step.change.prepared.notice.as_ref());
    let notices: Vec<&Notice> = notices.collect();
    outbox::insert(shared, tx, client_id, &notices).await
}

async fn report(tx: &Tx<'_>, steps: &[Step<'_>]) -> Done<()> {
    let db = Db::Transaction(tx);
    let reports = steps.iter().filter_map(|step| {
        let (ended, sealed) = (step.settlement.as_ref()?, step.change.prepared.report.as_ref()?);
        Some(reports::insert(&db, ended, sealed))
    });
    join_all(reports).await.into_iter().collect()
}

impl<'c> Step<'c> {
    fn session(&self) -> &'c Session {
        self.change.session()
    }

    fn event(&self) -> Option<AuditEvent> {
        match (&self.change.key_id, &self.settlement) {
            (Some(key_id), _) => Some(AuditEvent::created(self.session()).by(key_id)),
            (None, Some(ended)) => Some(AuditEvent::settled(ended)),
            (None, None) => None,
        }
    }

    fn measured(&self) -> Option<Measured> {
        let ended = self.settlement.as_ref()?;
        Some(Measured::settled(ended, self.change.prepared.processing_us))
    }
}
