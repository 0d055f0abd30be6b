//! Stores, settles and deletes sessions in SQLite.
//!
//! Each database has its own SQL for settlements, because they are the hot path. Here claims and
//! keys are in a second file without savepoints: a job writes to it last, and it is committed
//! first. The writer's group of jobs shares the heads of audit chains, and adds to the metrics
//! once. The PostgreSQL counterpart is `postgres/sessions/step.rs`.

use idgate_core::shell::{Offer, Settlement};
use idgate_core::{Session, SessionId, UnixMillis};
use rusqlite::named_params;
use serde_json::json;

use crate::audit_chain::AuditEvent;
use crate::db::{Db, at_once};
use crate::env::Env;
use crate::metrics::Measured;
use crate::prepared_session::Prepared;
use crate::quotas::close_sessions;
use crate::reports;
use crate::seal::Sealer;
use crate::session_keys::{needs_key, restore};
use crate::sessions::{self, By, CallersSession};
use crate::sql::{millis, number};
use crate::sqlite::claims;
use crate::sqlite::outbox;
use crate::sqlite::readers::Reader;
use crate::sqlite::session_keys;
use crate::sqlite::writer::Batch;
use crate::types::{Caller, Committed, StoreError};
use crate::version_numbers::numbers;

impl Prepared {
    /// Stores a new session that the key `key_id` requested, after counting it.
    pub(crate) fn insert(&self, batch: &mut Batch<'_>, key_id: &str) -> Result<(), StoreError> {
        let session = &self.session;
        let credentials = session.request().credentials();
        let formats: Vec<_> =
            credentials.iter().map(|credential| credential.format().name()).collect();
        let issuers: Vec<_> = credentials.iter().map(|c| c.issuer_id().as_str()).collect();
        batch
            .main
            .prepare_cached(
                "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, \
                 expires_at, formats, issuer_ids, record, events, parent_span) VALUES (:id, \
                 :client_id, :livemode, :status, :revision, :created_at, :expires_at, :formats, \
                 :issuer_ids, :record, :events, :parent_span)",
            )?
            .execute(named_params! {
                ":id": session.id().as_str(),
                ":client_id": session.tenant().as_str(),
                ":livemode": session.livemode(),
                ":status": session.phase().status().as_str(),
                ":revision": number(session.revision().0),
                ":created_at": millis(session.created_at()),
                ":expires_at": millis(session.expires_at()),
                ":formats": json!(formats).to_string(),
                ":issuer_ids": json!(issuers).to_string(),
                ":record": self.record,
                ":events": self.events,
                ":parent_span": self.parent_span,
            })?;
        for offer in session.offers().filter_map(Offer::id) {
            batch
                .main
                .prepare_cached("INSERT INTO offers (id, session_id) VALUES (?1, ?2)")?
                .execute((offer.as_str(), session.id().as_str()))?;
        }
        if let Some(page) = &self.page {
            at_once(page.insert(&Db::sqlite(batch.main), session.id().as_str()))?;
        }
        batch.measure(Measured::created(session));
        batch.audit(session.tenant().as_str(), AuditEvent::created(session).by(key_id))?;
        // Last, because this file has no savepoint: nothing in the job can fail after it.
        if let Some(sealed) = &self.key {
            session_keys::insert(batch.claims()?, session.id().as_str(), sealed)?;
        }
        Ok(())
    }

    /// Stores the transition if the revision is still the one it started from.
    pub(crate) fn update(&self, batch: &mut Batch<'_>) -> Result<Committed, StoreError> {
        let session = &self.session;
        let ended = session.settlement();
        let (ended, numbers) = (ended.as_ref(), self.basis.0);
        let changed = batch
            .main
            .prepare_cached(concat!(
                "UPDATE sessions SET status = :status, revision = :revision, \
                 lease_until = :lease_until, settled_at = :settled_at, reason = :reason, \
                 latency_ms = :latency_ms, \
                 processing_us = coalesce(:processing_us, processing_us), record = :record, \
                 events = events || :events \
                 WHERE id = :id AND revision = :from AND NOT (:needs_client AND client_id IN \
                     (SELECT c.id FROM clients AS c WHERE c.revoked_at IS NOT NULL)) \
                 AND (:trust IS NULL OR (:trust, :gateway_keys, :certificates) = (",
                numbers!(),
                "))"
            ))?
            .execute(named_params! {
                ":status": session.phase().status().as_str(),
                ":revision": number(session.revision().0),
                ":lease_until": session.phase().lease_until().map(millis),
                ":settled_at": ended.map(|ended| millis(ended.at)),
                ":reason": ended.and_then(|ended| ended.reason).map(|reason| reason.as_str()),
                ":latency_ms": ended.map(|ended| number(ended.latency_ms())),
                ":processing_us": self.processing_us.map(number),
                ":record": self.record,
                ":events": self.events,
                ":id": session.id().as_str(),
                ":from": number(self.from),
                ":needs_client": self.needs_client(),
                ":trust": numbers.map(|numbers| number(numbers.trust)),
                ":gateway_keys": numbers.map(|numbers| number(numbers.gateway_keys)),
                ":certificates": numbers.map(|numbers| number(numbers.certificates)),
            })?;
        if changed == 0 {
            return Ok(Committed::LostRace);
        }
        if let Some(ended) = ended {
            self.settle(batch, ended)?;
        }
        // Last, because this file has no savepoint: nothing in the job can fail after it.
        if let Some((redact_at, sealed)) = &self.result {
            claims::insert(batch.claims()?, session.id().as_str(), *redact_at, sealed)?;
        }
        if ended.is_some_and(Settlement::spends_key) {
            batch.spend_key(session.id().as_str());
        }
        Ok(Committed::Yes)
    }

    /// The consequences of a settlement in the main file.
    fn settle(&self, batch: &mut Batch<'_>, ended: &Settlement<'_>) -> Result<(), StoreError> {
        let client_id = ended.session.tenant().as_str();
        at_once(close_sessions(&Db::sqlite(batch.main), client_id, 1))?;
        if ended.session.offers().nth(1).is_some() {
            batch
                .main
                .prepare_cached("DELETE FROM offers WHERE session_id = ?1")?
                .execute([ended.session.id().as_str()])?;
        }
        batch.audit(client_id, AuditEvent::settled(ended))?;
        if let Some(notice) = &self.notice
            && notice.insert(batch.main)?
        {
            batch.ring();
        }
        if let Some(sealed) = &self.report {
            at_once(reports::insert(&Db::sqlite(batch.main), ended, sealed))?;
        }
        batch.measure(Measured::settled(ended, self.processing_us));
        Ok(())
    }
}

/// A session, with its key while it is open. Nothing keeps an older state of the files alive.
pub(crate) fn read(
    reader: &Reader,
    env: &Env,
    by: By,
    name: &str,
) -> Result<Option<Session>, StoreError> {
    let main = Db::sqlite(&reader.main);
    let Some(mut session) = at_once(sessions::find(&main, env, by, name))? else { return Ok(None) };
    if needs_key(&session) {
        let Some(key) = session_keys::read(&reader.claims, session.id().as_str())? else {
            // It settled since it was read, or an operator restored a copy of the main file alone.
            return at_once(sessions::find(&main, env, By::Id, session.id().as_str()));
        };
        restore(&env.sealer, &mut session, &key)?;
    }
    Ok(Some(session))
}

/// A session of the caller. The result is included while it may be read.
pub(crate) fn with_result(
    reader: &Reader,
    sealer: &Sealer,
    (stored, _): &CallersSession,
    now: UnixMillis,
) -> Result<Session, StoreError> {
    let mut session = stored.open(sealer)?;
    if session.settled_at().is_some()
        && let Some(result) = claims::read(&reader.claims, sealer, &session, now)?
    {
        session.restore_result(result);
    }
    Ok(session)
}

/// Removes a session of the caller with its events, its result and its notification.
pub(crate) fn delete(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let main = Db::sqlite(batch.main);
    let removed = at_once(sessions::remove(&main, caller, id.as_str()))?;
    let Some((settled_at, _)) = removed else { return Ok(false) };
    match settled_at {
        None => at_once(close_sessions(&main, caller.client_id.as_str(), 1))?,
        Some(at) => outbox::remove_of_session(batch.main, id.as_str(), at)?,
    }
    batch.audit(
        caller.client_id.as_str(),
        AuditEvent::deleted(id.as_str(), now).by(&caller.key_id),
    )?;
    batch.erase_session(id.as_str(), settled_at);
    Ok(true)
}
