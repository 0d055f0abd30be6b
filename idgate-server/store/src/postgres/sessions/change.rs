//! Changes of sessions. Concurrent changes of one client go into one transaction. If a commit is
//! not acknowledged, the outcome is looked up.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use idgate_core::SessionId;

use super::super::super::metrics::Measured;
use super::super::super::sql::number;
use super::super::super::types::StoreError;
use super::super::change::{Change, Stored};
use super::super::error::{Done, Failure};
use super::super::groups::{self, TURN};
use super::super::pool::{ANSWER, Tx};
use super::super::shared::Shared;
use super::step;
use crate::failure::Boxed;
use crate::postgres_statements::{execute, row};
use crate::prepared_session::Prepared;

/// How often a single change is tried if its COMMIT is not acknowledged.
const TRIES: usize = 3;
/// How long a group may take. With its wait for a turn, that is no longer than any other use case.
const TIME: Duration = ANSWER.saturating_sub(TURN);

/// Advisory locks with this key are turns of clients, by a hash of their ids.
const TURNS: i32 = 1;
const TURN_OF: &str = "SELECT pg_advisory_xact_lock($1, $2)";

type Group = groups::Group<Change, Stored>;
type Lane = groups::Lane<Change, Stored>;

/// The looked-up outcome of a transaction that was in doubt.
enum Looked {
    /// The change is stored.
    Ours,
    /// The change is not stored, and can be retried.
    Not,
}

/// The changes that are written together.
struct Taken<'l> {
    shared: &'l Shared,
    lane: &'l Lane,
    first: Group,
    /// The changes that arrived before this node's turn.
    more: OnceLock<Group>,
}

/// Writes a lane until it is empty.
pub(in crate::postgres) async fn write(shared: Arc<Shared>, mut lane: Lane) {
    while let Some(first) = lane.next(fits) {
        let taken = Taken { shared: &shared, lane: &lane, first, more: OnceLock::new() };
        let outcomes = shared.clock.timeout(TIME, all(&taken)).await.unwrap_or_else(|_| {
            let silent = StoreError::Unavailable("PostgreSQL does not answer".into());
            each(&taken.changes(), &silent)
        });
        for (change, outcome) in taken.changes().into_iter().zip(&outcomes) {
            if matches!(outcome, Ok(Stored::Yes)) {
                shared.announce(change);
            }
        }
        taken.tell(outcomes);
    }
}

impl Taken<'_> {
    fn changes(&self) -> Vec<&Change> {
        let more = self.more.get().into_iter().flat_map(|more| &more.jobs);
        self.first.jobs.iter().chain(more).collect()
    }

    async fn store(&self, tx: &Tx<'_>) -> Done<Vec<Stored>> {
        // The gateway's own lane has changes of many clients, and few of each.
        if let Some(first) = self.first.jobs.iter().find(|change| change.is_recorded())
            && !self.lane.is_gateways()
        {
            await_turn(tx, first.session().tenant().as_str()).await?;
            self.more.get_or_init(|| self.lane.more(&self.first, fits));
        }
        step::store(self.shared, tx, &self.changes()).await
    }

    fn tell(self, mut outcomes: Vec<Result<Stored, StoreError>>) {
        let of_more = outcomes.split_off(self.first.jobs.len().min(outcomes.len()));
        self.first.tell(outcomes);
        if let Some(more) = self.more.into_inner() {
            more.tell(of_more);
        }
    }
}

/// Waits until no other node is writing a group for this client. Without it, groups would wait at
/// the head of the client's audit chain anyway, and could not take along the changes that arrive in
/// between.
async fn await_turn(tx: &Tx<'_>, client_id: &str) -> Done<()> {
    let hash = digest(&SHA256, client_id.as_bytes());
    let key = hash.as_ref().first_chunk().copied().map(i32::from_be_bytes);
    execute(tx, TURN_OF, &[&TURNS, &key.unwrap_or_default()]).await?;
    Ok(())
}

/// A group has changes of one client, and of different sessions.
fn fits(group: &[Change], next: &Change) -> bool {
    let is_theirs = |first: &Change| first.session().tenant() == next.session().tenant();
    group.first().is_none_or(is_theirs)
        && group.iter().all(|other| other.session().id() != next.session().id())
}

/// Stores the changes together. If one of them lacks room or fails, each is stored on its own, so
/// that the others are not affected.
async fn all(taken: &Taken<'_>) -> Vec<Result<Stored, StoreError>> {
    let shared = taken.shared;
    let together = shared.pool.transact_all(
        taken,
        |taken| taken.changes().len(),
        |taken, tx| Box::pin(taken.store(tx)),
    );
    let together = together.await;
    let changes = taken.changes();
    let doubt = match together {
        Ok(stored) => return stored.into_iter().map(Ok).collect(),
        Err(Failure::InDoubt(why)) => Some(why),
        Err(Failure::NoRoom) if changes.len() == 1 => return vec![Ok(Stored::NoRoom)],
        Err(failure) if changes.len() == 1 => return each(&changes, &failure.into()),
        Err(Failure::NoRoom | Failure::Again(_)) => None,
        Err(Failure::Store(StoreError::Failed(_) | StoreError::Damaged(_))) => None,
        Err(Failure::Store(error)) => return each(&changes, &error),
    };
    let mut outcomes = Vec::new();
    for change in changes {
        let outcome = alone(shared, change, doubt.clone()).await;
        outcomes.push(outcome.map_err(StoreError::from));
    }
    outcomes
}

fn each(changes: &[&Change], error: &StoreError) -> Vec<Result<Stored, StoreError>> {
    changes.iter().map(|_| Err(error.clone())).collect()
}

/// `doubt`: an earlier transaction with this change may have been committed.
async fn alone(shared: &Shared, change: &Change, doubt: Option<String>) -> Done<Stored> {
    let with = (shared, [change]);
    let transaction = || -> Boxed<'_, Stored> {
        Box::pin(async {
            let stored = shared.pool.transact(&with, |(shared, changes), tx| {
                Box::pin(step::store(shared, tx, changes))
            });
            match stored.await {
                Ok(stored) => Ok(stored.first().copied().unwrap_or(Stored::LostRace)),
                Err(Failure::NoRoom) => Ok(Stored::NoRoom),
                Err(failure) => Err(failure),
            }
        })
    };
    surely(shared, change, &transaction, (doubt, Stored::Yes)).await
}

/// Runs a transaction that stores a change. If its commit is not acknowledged, looks up the
/// outcome, and returns `stored` if the change is there.
pub(in crate::postgres) async fn surely<'w, T>(
    shared: &Shared,
    change: &Change,
    transaction: &(dyn Fn() -> Boxed<'w, T> + Send + Sync),
    (mut doubt, stored): (Option<String>, T),
) -> Done<T> {
    let mut tried = 0;
    let mut is_doubted = doubt.is_some();
    loop {
        if let Some(why) = doubt.take() {
            match look(shared, &change.prepared, &why).await? {
                Looked::Ours => return Ok(stored),
                Looked::Not if tried < TRIES => {}
                Looked::Not => return Err(Failure::InDoubt(why)),
            }
        }
        tried += 1;
        match transaction().await {
            Err(Failure::InDoubt(why)) => (doubt, is_doubted) = (Some(why), true),
            // An earlier try may have been committed after all.
            Err(failure) if is_doubted => {
                return match look(shared, &change.prepared, "twice").await? {
                    Looked::Ours => Ok(stored),
                    Looked::Not => Err(failure),
                };
            }
            done => return done,
        }
    }
}

/// Whether the stored record is exactly this one: no two sealed records are equal. Waits for a
/// transaction that still holds the row.
async fn look(shared: &Shared, prepared: &Prepared, why: &str) -> Done<Looked> {
    let client = shared.pool.client().await?;
    let found = row(
        &client,
        "SELECT record = $2, revision FROM sessions WHERE id = $1 FOR UPDATE",
        &[&prepared.session.id().as_str(), &prepared.record],
    )
    .await?;
    let Some(found) = found else { return Ok(Looked::Not) };
    let (is_ours, revision): (bool, i64) = (found.try_get(0)?, found.try_get(1)?);
    if is_ours {
        Ok(Looked::Ours)
    } else if revision == number(prepared.from) {
        Ok(Looked::Not)
    } else {
        // It is unknown whether this change was stored before the present one.
        Err(Failure::InDoubt(why.to_owned()))
    }
}

impl Shared {
    /// Announces a stored change to watchers, to the sender of notifications, and to the metrics.
    pub(in crate::postgres) fn announce(&self, change: &Change) {
        if change.is_new() {
            self.measured(&Measured::created(change.session()));
            return;
        }
        self.tell(change.session().id());
        if change.prepared.notice.is_some() {
            self.env.outbox_bell.notify_one();
        }
        if let Some(ended) = change.session().settlement() {
            self.measured(&Measured::settled(&ended, change.prepared.processing_us));
        }
    }

    /// Counts a session that this node created or settled.
    fn measured(&self, measured: &Measured) {
        let Measured { status, format, livemode, error_code, processing_us, .. } = measured;
        self.env.telemetry.session(status.as_str(), format, *livemode);
        if let Some(us) = processing_us {
            self.env.telemetry.verification(*us, *error_code);
        }
    }

    /// Notifies the watchers of a session, here and on other nodes. Call it after the commit.
    pub(in crate::postgres) fn tell(&self, id: &SessionId) {
        self.env.changes.publish(id);
        self.news.tell(id.as_str());
    }
}
