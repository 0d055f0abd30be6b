//! Sessions in the form in which either database stores them.

use std::sync::atomic::AtomicBool;

use idgate_core::shell::Phase;
use idgate_core::{Effect, Reason, Session, Transition, UnixMillis};
use serde_json::json;

use crate::db::Row;
use crate::failure::Done;
use crate::outbox::Notice;
use crate::pages::SealedPage;
use crate::recall::Basis;
use crate::recent_sessions::Kept;
use crate::seal::{Place, Sealer};
use crate::sql::millis;
use crate::types::{Beside, StoreError};
use crate::{claims, session_keys};
use idgate_base::spans::{Stage, stage};

/// A transition in its stored form, prepared outside the writing thread.
pub(super) struct Prepared {
    pub(super) session: Session,
    pub(super) from: u64,
    pub(super) events: String,
    pub(super) record: Vec<u8>,
    pub(super) processing_us: Option<u64>,
    pub(super) result: Option<(UnixMillis, Vec<u8>)>,
    /// Set if the session settles.
    pub(super) notice: Option<Notice>,
    /// The sealed key of a new session that has one.
    pub(super) key: Option<Vec<u8>>,
    /// The page of a new session that has one.
    pub(super) page: Option<SealedPage>,
    /// The span that creates the session, if it is recorded.
    pub(super) parent_span: Option<String>,
    /// The sealed report on the answer that this transition rejects.
    pub(super) report: Option<Vec<u8>>,
    pub(super) basis: Basis,
}

impl Prepared {
    pub(super) fn new(
        sealer: &Sealer,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Result<Self, StoreError> {
        stage(Stage::Seal, || Self::seal(sealer, transition, processing_us))
    }

    fn seal(
        sealer: &Sealer,
        transition: Transition,
        processing_us: Option<u64>,
    ) -> Result<Self, StoreError> {
        let mut session = transition.session;
        // The result's row is found by the end time in the settlement.
        let ends = session.settlement().and_then(|ended| ended.redact_at());
        let result = match session.take_result().zip(ends) {
            Some((result, ends)) => Some((ends, claims::seal(sealer, &session, &result)?)),
            None => None,
        };
        // The key is stored once, with the new session. No transition changes it.
        let key = session.take_encryption_key().filter(|_| transition.from.0 == 0);
        let key = key.map(|key| session_keys::seal(sealer, &session, &key)).transpose()?;
        let record = sealer.seal(place(&session), &session.to_bytes())?;
        let (from, events) = (transition.from.0, events(&transition.effects));
        let notice = session.settlement().as_ref().map(Notice::of);
        Ok(Self {
            session,
            from,
            events,
            record,
            processing_us,
            result,
            key,
            notice,
            page: None,
            parent_span: None,
            report: None,
            basis: Basis::default(),
        })
    }

    /// Adds the rows that belong to a new session.
    pub(super) fn with(mut self, sealer: &Sealer, beside: &Beside) -> Result<Self, StoreError> {
        let page = beside.page.as_ref();
        let sealed = page.map(|page| SealedPage::new(sealer, &self.session, page));
        self.page = sealed.transpose()?;
        self.parent_span = beside.parent.map(|parent| parent.to_string());
        Ok(self)
    }
}

impl Prepared {
    /// The session for memory, if wallets can answer it. `former` is the copy before this change:
    /// only a new session brings its key.
    pub(super) fn kept(&self, former: Option<&Kept>) -> Option<Kept> {
        let Self { session, record, .. } = self;
        let key = self.key.as_ref().or(former.and_then(|former| former.key.as_ref()));
        let is_open = matches!(session.phase(), Phase::Created | Phase::Pending);
        let is_whole = key.is_some() || !session_keys::needs_key(session);
        (is_open && is_whole).then(|| Kept {
            id: session.id().as_str().to_owned(),
            client_id: session.tenant().as_str().to_owned(),
            livemode: session.livemode(),
            record: record.clone(),
            key: key.cloned(),
            names: session.handles().map(str::to_owned).collect(),
            expires_at: session.expires_at(),
            is_committed: AtomicBool::new(false),
        })
    }

    /// Whether it is stored only if its client is not revoked: wallets' answers and holds, what a
    /// person does, and everything that memory decided.
    pub(super) fn needs_client(&self) -> bool {
        match self.session.phase() {
            _ if self.basis.is_recalled() => true,
            Phase::Created | Phase::Pending | Phase::Expired { .. } => false,
            Phase::Failed { reason, .. } => !matches!(reason, Reason::ClientRevoked),
            _ => true,
        }
    }
}

/// The events to append to the column `events`.
fn events(effects: &[Effect]) -> String {
    let event = |effect: &Effect| match effect {
        Effect::PublishStatus { status, reason, wallet_error, occurred_at } => {
            let reason = reason.map(|reason| reason.as_str());
            let event = match wallet_error {
                None => json!([status.as_str(), reason, millis(*occurred_at)]),
                Some(error) => {
                    json!([status.as_str(), reason, millis(*occurred_at), error.as_str()])
                }
            };
            Some(event.to_string() + ",")
        }
        _ => None,
    };
    effects.iter().filter_map(event).collect()
}

/// The seal's place of a session record.
fn place(session: &Session) -> Place<'_> {
    place_of(session.id().as_str(), session.tenant().as_str())
}

pub(super) const fn place_of<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "sessions", object: session_id, client: client_id }
}

/// A record, and the columns that identify its session.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) client_id: String,
    pub(super) livemode: bool,
    pub(super) record: Vec<u8>,
}

impl Stored {
    /// From the columns `id`, `client_id`, `livemode` and `record`.
    pub(super) fn read(row: &Row<'_>) -> Done<Self> {
        Self::at(row, 0)
    }

    /// From memory.
    pub(super) fn of(kept: &Kept) -> Self {
        let Kept { id, client_id, livemode, record, .. } = kept;
        let (id, client_id) = (id.clone(), client_id.clone());
        Self { id, client_id, livemode: *livemode, record: record.clone() }
    }

    /// The same as [`Stored::read`] for columns that begin at `first`.
    pub(super) fn at(row: &Row<'_>, first: usize) -> Done<Self> {
        let at = |column: usize| first.saturating_add(column);
        let (id, client_id) = (row.get(at(0))?, row.get(at(1))?);
        Ok(Self { id, client_id, livemode: row.get(at(2))?, record: row.get(at(3))? })
    }

    /// The session, if the record belongs to this row and not to another session, client or mode.
    pub(super) fn open(&self, sealer: &Sealer) -> Result<Session, StoreError> {
        let record = sealer.open(place_of(&self.id, &self.client_id), &self.record);
        let record = record.map_err(|error| self.unreadable(&error))?;
        self.parse(&record)
    }

    /// Parses an opened record, if it belongs to this row.
    pub(super) fn parse(&self, record: &[u8]) -> Result<Session, StoreError> {
        let session = Session::from_bytes(record).map_err(|error| self.unreadable(&error))?;
        let same = session.id().as_str() == self.id
            && session.tenant().as_str() == self.client_id
            && session.livemode() == self.livemode;
        same.then_some(session)
            .ok_or_else(|| self.unreadable(&"its row was changed outside idgate"))
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> StoreError {
        StoreError::Damaged(format!("session {} cannot be read: {error}", self.id))
    }
}
