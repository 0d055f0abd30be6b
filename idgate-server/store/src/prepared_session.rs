//! Sessions in the form in which either database stores them.

use std::sync::atomic::AtomicBool;

use idgate_core::shell::Phase;
use idgate_core::{Effect, Reason, Session, Transition, UnixMillis};
use serde_json::json;

use crate::outbox::Notice;
use crate::pages::SealedPage;
use crate::recall::Basis;
use crate::recent_sessions::Kept;
use crate::seal::{Place, Sealer};
use crate::sql::millis;
use crate::stored_session::{Stored, place_of};
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
            stored: Stored {
                id: session.id().as_str().to_owned(),
                client_id: session.tenant().as_str().to_owned(),
                livemode: session.livemode(),
                record: record.clone(),
            },
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
