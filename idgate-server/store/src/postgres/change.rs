//! A change of one session, and its outcome.

use idgate_core::Session;

use crate::prepared_session::Prepared;

/// A change of one session, to be stored with all its consequences.
pub(super) struct Change {
    pub(super) prepared: Prepared,
    /// The API key that requested it, for a new session.
    pub(super) key_id: Option<String>,
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stored {
    /// It is durable.
    Yes,
    /// The client has reached its limit of open sessions; nothing changed.
    NoRoom,
    /// Another write was first, or the session is gone; nothing changed.
    LostRace,
}

impl Change {
    /// A new session, requested by the key `key_id`.
    pub(super) fn new(prepared: Prepared, key_id: &str) -> Self {
        Self { prepared, key_id: Some(key_id.to_owned()) }
    }

    /// A change of an existing session.
    pub(super) const fn of(prepared: Prepared) -> Self {
        Self { prepared, key_id: None }
    }

    pub(super) const fn session(&self) -> &Session {
        &self.prepared.session
    }

    pub(super) const fn is_new(&self) -> bool {
        self.key_id.is_some()
    }

    /// Whether the audit log records it.
    pub(super) fn is_recorded(&self) -> bool {
        self.is_new() || self.session().settlement().is_some()
    }
}
