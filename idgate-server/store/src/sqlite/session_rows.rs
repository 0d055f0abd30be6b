//! Sessions and their status events.

use idgate_core::ids::{OfferId, SessionId};
use idgate_core::session::{Offer, Session, Settlement};
use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use serde_json::json;

use crate::audit_chain::AuditEvent;
use crate::db::{Db, at_once};
use crate::metrics::Measured;
use crate::prepared_session::{Prepared, Stored, has_key};
use crate::quotas::Quotas;
use crate::reports;
use crate::seal::Sealer;
use crate::sql::{millis, number, time};
use crate::sqlite::claims;
use crate::sqlite::open_sessions;
use crate::sqlite::outbox;
use crate::sqlite::readers::Reader;
use crate::sqlite::session_keys;
use crate::sqlite::writer::Batch;
use crate::types::{Caller, Committed, Made, StoreError};

impl Prepared {
    /// Counts a new session among those that its client may have.
    pub(crate) fn count(&self, batch: &Batch<'_>, quotas: Quotas) -> Result<Made, StoreError> {
        let (client_id, livemode) = (self.session.tenant().as_str(), self.session.livemode());
        let counted = quotas.open_session(batch.main, client_id, livemode)?;
        Ok(if counted { Made::Yes } else { Made::NoRoom })
    }

    /// Stores a new session that the key `key_id` asked for, once it is counted.
    pub(crate) fn insert(&self, batch: &mut Batch<'_>, key_id: &str) -> Result<(), StoreError> {
        let session = &self.session;
        let credentials = &session.request().credentials;
        let formats: Vec<_> =
            credentials.iter().map(|credential| credential.format.name()).collect();
        let issuers: Vec<_> = credentials.iter().map(|c| c.issuer_id.as_str()).collect();
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
        // Last, because this file has no savepoint: nothing of the job can fail after it.
        if let Some(sealed) = &self.key {
            session_keys::insert(batch.claims()?, session.id().as_str(), sealed)?;
        }
        Ok(())
    }

    /// Stores it where the revision still is the one it started from.
    pub(crate) fn update(&self, batch: &mut Batch<'_>) -> Result<Committed, StoreError> {
        let session = &self.session;
        let ended = session.settlement();
        let ended = ended.as_ref();
        let changed = batch
            .main
            .prepare_cached(
                "UPDATE sessions SET status = :status, revision = :revision, \
                 lease_until = :lease_until, settled_at = :settled_at, reason = :reason, \
                 latency_ms = :latency_ms, \
                 processing_us = coalesce(:processing_us, processing_us), record = :record, \
                 events = events || :events \
                 WHERE id = :id AND revision = :from AND NOT (:is_answer AND client_id IN \
                     (SELECT c.id FROM clients AS c WHERE c.revoked_at IS NOT NULL))",
            )?
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
                ":is_answer": self.is_answer(),
            })?;
        if changed == 0 {
            return Ok(Committed::LostRace);
        }
        if let Some(ended) = ended {
            self.settle(batch, ended)?;
        }
        // Last, because this file has no savepoint: nothing of the job can fail after it.
        if let Some((redact_at, sealed)) = &self.result {
            claims::insert(batch.claims()?, session.id().as_str(), *redact_at, sealed)?;
        }
        if ended.is_some_and(Settlement::spends_key) {
            batch.spend_key(session.id().as_str());
        }
        Ok(Committed::Yes)
    }

    /// What follows from a settlement in the main file.
    fn settle(&self, batch: &mut Batch<'_>, ended: &Settlement<'_>) -> Result<(), StoreError> {
        let client_id = ended.session.tenant().as_str();
        open_sessions::close_session(batch.main, client_id)?;
        if ended.session.offers().nth(1).is_some() {
            batch
                .main
                .prepare_cached("DELETE FROM offers WHERE session_id = ?1")?
                .execute([ended.session.id().as_str()])?;
        }
        batch.audit(client_id, AuditEvent::settled(ended))?;
        if let Some(notice) = &self.notice {
            notice.insert(batch.main)?;
        }
        if let Some(sealed) = &self.report {
            at_once(reports::insert(&Db::sqlite(batch.main), ended, sealed))?;
        }
        batch.measure(Measured::settled(ended, self.processing_us));
        Ok(())
    }
}

/// The session that an offer belongs to, as [`read`] reads it.
pub(crate) fn read_offered(
    main: &Connection,
    sealer: &Sealer,
    id: &OfferId,
) -> Result<Option<Session>, StoreError> {
    let session: Option<String> = main
        .prepare_cached("SELECT session_id FROM offers WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    match session {
        Some(session) => read(main, sealer, &SessionId::new(session)),
        None => Ok(None),
    }
}

/// A session that was read, with its key while it is open. Nothing keeps an older state of the files
/// alive.
pub(crate) fn with_key(
    reader: &Reader,
    sealer: &Sealer,
    mut session: Session,
) -> Result<Option<Session>, StoreError> {
    if !has_key(&session) || session.settled_at().is_some() {
        return Ok(Some(session));
    }
    let Some(key) = session_keys::read(&reader.claims, sealer, &session)? else {
        // Settled since it was read; or an operator brought back a copy of the main file alone.
        return read(&reader.main, sealer, session.id());
    };
    session.restore_encryption_key(&key).map_err(|error| {
        StoreError::Failed(format!("the key of session {}: {error}", session.id()))
    })?;
    Ok(Some(session))
}

/// A session without its key, unless its client is revoked.
pub(crate) fn read(
    main: &Connection,
    sealer: &Sealer,
    id: &SessionId,
) -> Result<Option<Session>, StoreError> {
    let found = main
        .prepare_cached(
            "SELECT s.id, s.client_id, s.livemode, s.record FROM sessions AS s \
             JOIN clients AS c ON c.id = s.client_id WHERE s.id = ?1 AND c.revoked_at IS NULL",
        )?
        .query_row([id.as_str()], Stored::from_row)
        .optional()?;
    found.map(|found| found.open(sealer)).transpose()
}

/// A session of this caller, with its result while it may be read.
pub(crate) fn read_with_result(
    reader: &Reader,
    sealer: &Sealer,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Result<Option<Session>, StoreError> {
    let Some(mut session) = read_callers(&reader.main, sealer, caller, id)? else {
        return Ok(None);
    };
    if session.settled_at().is_some()
        && let Some(result) = claims::read(&reader.claims, sealer, &session, now)?
    {
        session.restore_result(result);
    }
    Ok(Some(session))
}

pub(crate) fn read_callers(
    main: &Connection,
    sealer: &Sealer,
    caller: &Caller,
    id: &SessionId,
) -> Result<Option<Session>, StoreError> {
    let found = main
        .prepare_cached(
            "SELECT id, client_id, livemode, record FROM sessions \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3",
        )?
        .query_row((id.as_str(), caller.client_id.as_str(), caller.livemode), Stored::from_row)
        .optional()?;
    found.map(|found| found.open(sealer)).transpose()
}

/// Removes a caller's session with its events, its result and its notification.
pub(crate) fn delete(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let removed: Option<Option<i64>> = batch
        .main
        .prepare_cached(
            "DELETE FROM sessions WHERE id = ?1 AND client_id = ?2 AND livemode = ?3 \
             RETURNING settled_at",
        )?
        .query_row((id.as_str(), caller.client_id.as_str(), caller.livemode), |row| row.get(0))
        .optional()?;
    let Some(settled_at) = removed else { return Ok(false) };
    let settled_at = settled_at.map(time);
    match settled_at {
        None => open_sessions::close_session(batch.main, caller.client_id.as_str())?,
        Some(at) => outbox::remove_of_session(batch.main, id.as_str(), at)?,
    }
    batch.audit(
        caller.client_id.as_str(),
        AuditEvent::deleted(id.as_str(), now).by(&caller.key_id),
    )?;
    batch.erase_session(id.as_str(), settled_at);
    Ok(true)
}

impl Stored {
    /// From the columns `id`, `client_id`, `livemode` and `record`.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (id, client_id) = (row.get(0)?, row.get(1)?);
        Ok(Self { id, client_id, livemode: row.get(2)?, record: row.get(3)? })
    }
}
