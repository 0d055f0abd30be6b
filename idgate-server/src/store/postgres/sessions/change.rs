//! Changing sessions: each change with all that follows from it in one transaction.

use idgate_core::ids::SessionId;
use idgate_core::session::Offer;
use idgate_core::time::UnixMillis;
use serde_json::json;

use super::super::super::interface::{Caller, Committed, Made, StoreError};
use super::super::super::metrics::Measured;
use super::super::super::prepared::Prepared;
use super::super::super::sql::{millis, number};
use super::super::error::{Done, Failure};
use super::super::pool::{Boxed, Tx};
use super::super::shared::Shared;
use super::super::sql::{execute, row};
use super::super::{audit, claims, outbox};
use super::settle::{close_session, settle};
use crate::audit::AuditEvent;

/// How long a result may be read after its settlement was written.
const RESULT_MS: i64 = 30_000;

/// What a transaction that was in doubt came to.
enum Looked {
    /// It is stored as it was to be.
    Ours,
    /// It is not: it can be tried again.
    Not,
}

/// How often a change whose COMMIT was not answered is tried.
const TRIES: usize = 3;

/// What making a session comes to, beside the session itself.
pub(in crate::store::postgres) trait Outcome {
    /// Whether the session is stored.
    fn is_made(&self) -> bool;
    /// It is.
    fn made() -> Self;
}

impl Outcome for Made {
    fn is_made(&self) -> bool {
        *self == Self::Yes
    }

    fn made() -> Self {
        Self::Yes
    }
}

pub(super) async fn create(shared: &Shared, prepared: &Prepared, key_id: &str) -> Done<Made> {
    let with = (shared, prepared, key_id);
    let work = || -> Boxed<'_, Made> {
        Box::pin(shared.pool.transact(&with, |(shared, prepared, key_id), tx| {
            Box::pin(async move {
                if count(shared, tx, prepared).await? == Made::NoRoom {
                    return Ok(Made::NoRoom);
                }
                insert_new(shared, tx, prepared, key_id).await?;
                Ok(Made::Yes)
            })
        }))
    };
    make(shared, prepared, &work).await
}

/// Runs a transaction that makes a session, and finds out what became of it when nobody said so.
pub(in crate::store::postgres) async fn make<'w, T: Outcome>(
    shared: &Shared,
    prepared: &Prepared,
    transaction: &(dyn Fn() -> Boxed<'w, T> + Send + Sync),
) -> Done<T> {
    let mut tried = 0;
    let made = loop {
        tried += 1;
        match transaction().await {
            Err(Failure::InDoubt(why)) => match look(shared, prepared, &why).await? {
                Looked::Ours => break T::made(),
                Looked::Not if tried < TRIES => {}
                Looked::Not => return Err(Failure::InDoubt(why)),
            },
            // The id is ours alone: a try before this one was committed after all.
            Err(failure) if tried > 1 => match look(shared, prepared, "twice").await? {
                Looked::Ours => break T::made(),
                Looked::Not => return Err(failure),
            },
            made => break made?,
        }
    };
    if made.is_made() {
        shared.measured(&Measured::created(&prepared.session));
    }
    Ok(made)
}

/// Stores it where the revision still is the one it started from.
pub(super) async fn update(shared: &Shared, prepared: &Prepared) -> Done<Committed> {
    let with = (shared, prepared);
    let mut tried = 0;
    let committed = loop {
        tried += 1;
        let done = shared
            .pool
            .transact(&with, |(shared, prepared), tx| Box::pin(change(shared, prepared, tx)))
            .await;
        match done {
            Err(Failure::InDoubt(why)) => match look(shared, prepared, &why).await? {
                Looked::Ours => break Committed::Yes,
                Looked::Not if tried < TRIES => {}
                Looked::Not => return Err(Failure::InDoubt(why)),
            },
            done => break done?,
        }
    };
    if committed == Committed::Yes
        && let Some(ended) = prepared.session.settlement()
    {
        shared.measured(&Measured::settled(&ended, prepared.processing_us));
    }
    Ok(committed)
}

/// Whether this very transition is what is stored: no two are sealed alike. A transaction that is still
/// on its way holds the row, and is waited for.
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
        // Whether ours came before what is stored now, nobody can say.
        Err(Failure::InDoubt(why.to_owned()))
    }
}

/// Counts a new session among those that its client may have.
pub(in crate::store::postgres) async fn count(
    shared: &Shared,
    tx: &Tx<'_>,
    prepared: &Prepared,
) -> Done<Made> {
    let (session, quotas) = (&prepared.session, shared.quotas);
    let usual =
        if session.livemode() { quotas.open_sessions_live } else { quotas.open_sessions_test };
    let counted = execute(
        tx,
        "INSERT INTO open_sessions AS o (client_id, count) \
         SELECT id, 1 FROM clients WHERE id = $1 AND coalesce(max_open_sessions, $2) > 0 \
         ON CONFLICT (client_id) DO UPDATE SET count = o.count + 1 WHERE o.count < coalesce( \
             (SELECT max_open_sessions FROM clients WHERE id = $1), $2)",
        &[&session.tenant().as_str(), &number(usual)],
    )
    .await?;
    Ok(if counted > 0 { Made::Yes } else { Made::NoRoom })
}

/// Stores a new session that the key `key_id` asked for, once it is counted.
pub(in crate::store::postgres) async fn insert_new(
    shared: &Shared,
    tx: &Tx<'_>,
    prepared: &Prepared,
    key_id: &str,
) -> Done<()> {
    let session = &prepared.session;
    let client_id = session.tenant().as_str();
    let inserted = insert_row(tx, prepared);
    let (inserted, end) = tokio::join!(inserted, audit::lock(tx, &shared.audit, client_id));
    inserted?;
    let event = AuditEvent::created(session).by(key_id);
    let (named, locked) = (insert_offers(tx, prepared), insert_key(tx, prepared));
    let (shown, recorded) = (insert_page(tx, prepared), end?.append(tx, &shared.audit, event));
    let (named, locked, shown, recorded) = tokio::join!(named, locked, shown, recorded);
    named.and(locked).and(shown).and(recorded)
}

async fn insert_row(tx: &Tx<'_>, prepared: &Prepared) -> Done<()> {
    let session = &prepared.session;
    let credentials = &session.request().credentials;
    let formats: Vec<_> = credentials.iter().map(|credential| credential.format.name()).collect();
    let issuers: Vec<_> = credentials.iter().map(|c| c.issuer_id.as_str()).collect();
    execute(
        tx,
        "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, expires_at, \
         formats, issuer_ids, record, events) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        &[
            &session.id().as_str(),
            &session.tenant().as_str(),
            &session.livemode(),
            &session.phase().status().as_str(),
            &number(session.revision().0),
            &millis(session.created_at()),
            &millis(session.expires_at()),
            &json!(formats).to_string(),
            &json!(issuers).to_string(),
            &prepared.record,
            &prepared.events,
        ],
    )
    .await?;
    Ok(())
}

async fn insert_offers(tx: &Tx<'_>, prepared: &Prepared) -> Done<()> {
    let id = prepared.session.id().as_str();
    for offer in prepared.session.offers().filter_map(Offer::id) {
        let sql = "INSERT INTO offers (id, session_id) VALUES ($1, $2)";
        execute(tx, sql, &[&offer.as_str(), &id]).await?;
    }
    Ok(())
}

async fn insert_page(tx: &Tx<'_>, prepared: &Prepared) -> Done<()> {
    match &prepared.page {
        Some(page) => page.insert_on(tx, prepared.session.id().as_str()).await,
        None => Ok(()),
    }
}

async fn insert_key(tx: &Tx<'_>, prepared: &Prepared) -> Done<()> {
    if let Some(sealed) = &prepared.key {
        let sql = "INSERT INTO session_keys (session_id, sealed) VALUES ($1, $2)";
        execute(tx, sql, &[&prepared.session.id().as_str(), sealed]).await?;
    }
    Ok(())
}

async fn change(shared: &Shared, prepared: &Prepared, tx: &Tx<'_>) -> Done<Committed> {
    let session = &prepared.session;
    let ended = session.settlement();
    let ended = ended.as_ref();
    let lease_until = session.phase().lease_until().map(millis);
    let result = prepared.result.as_ref();
    let erase_at = result.and_then(|(redact_at, _)| shared.claims_clock.at(*redact_at));
    let changed = row(
        tx,
        "UPDATE sessions SET status = $3, revision = $4, lease_until = $5, node_id = $6, \
         settled_at = $7, reason = $8, latency_ms = $9, \
         processing_us = coalesce($10, processing_us), record = $11, events = events || $12, \
         claims_until = clock.until, claims_slot = (clock.until / $15) % $16 \
         FROM (SELECT CASE WHEN $13 THEN coalesce($14::bigint, clock_ms() + $17) END AS until) \
         AS clock WHERE id = $1 AND revision = $2 RETURNING claims_slot, claims_until",
        &[
            &session.id().as_str(),
            &number(prepared.from),
            &session.phase().status().as_str(),
            &number(session.revision().0),
            &lease_until,
            &lease_until.map(|_| &shared.node),
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
        ],
    )
    .await?;
    let Some(changed) = changed else { return Ok(Committed::LostRace) };
    let result = match result {
        Some((_, sealed)) => Some((changed.try_get(0)?, changed.try_get(1)?, sealed.as_slice())),
        None => None,
    };
    if let Some(ended) = ended {
        settle(shared, prepared, tx, (ended, result)).await?;
    }
    Ok(Committed::Yes)
}

/// Removes a caller's session with its events, its result and its notification.
pub(super) async fn delete(
    shared: &Shared,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Done<bool> {
    let with = (shared, caller, id.as_str());
    let work = shared.pool.transact(&with, |&(shared, caller, id), tx| {
        Box::pin(async move {
            let client_id = caller.client_id.as_str();
            let deleted = row(
                tx,
                "DELETE FROM sessions WHERE id = $1 AND client_id = $2 AND livemode = $3 \
                 RETURNING settled_at IS NULL, claims_slot",
                &[&id, &client_id, &caller.livemode],
            )
            .await?;
            let Some(deleted) = deleted else { return Ok(false) };
            if let Some(slot) = deleted.try_get::<_, Option<i16>>(1)? {
                claims::remove(tx, slot, id).await?;
            }
            if deleted.try_get(0)? {
                close_session(tx, client_id).await?;
            }
            let event = AuditEvent::deleted(id, now).by(&caller.key_id);
            audit::append(tx, &shared.audit, client_id, event).await?;
            outbox::remove_of_session(tx, id).await?;
            Ok(true)
        })
    });
    match work.await {
        // Sessions do not come back: one that is not there was deleted, by whomever.
        Err(Failure::InDoubt(why)) => {
            let client = shared.pool.client().await?;
            let sql = "SELECT FROM sessions WHERE id = $1 FOR UPDATE";
            match row(&client, sql, &[&id.as_str()]).await? {
                None => Ok(true),
                Some(_) => Err(Failure::Store(StoreError::Unavailable(why))),
            }
        }
        done => done,
    }
}

/// Removes sessions that settled before `before`, at most `limit`. Their results went long ago.
pub(super) async fn remove_settled(
    shared: &Shared,
    before: UnixMillis,
    limit: usize,
) -> Done<usize> {
    let client = shared.pool.client().await?;
    let removed = execute(
        &client,
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE settled_at < $1 \
         ORDER BY settled_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        &[&millis(before), &number(limit)],
    )
    .await?;
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}

impl Shared {
    /// Counts a session that this node made or settled, for operators.
    fn measured(&self, measured: &Measured) {
        let Measured { status, format, livemode, error_code, processing_us, .. } = measured;
        self.telemetry.session(status.as_str(), format, *livemode);
        if let Some(us) = processing_us {
            self.telemetry.verification(*us, *error_code);
        }
    }

    /// Tells those who watch a session, here and on other nodes. To be called after the commit.
    pub(in crate::store::postgres) fn tell(&self, id: &SessionId) {
        self.changes.publish(id);
        self.news.tell(id.as_str());
    }
}
