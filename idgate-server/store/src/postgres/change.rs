//! What is to be stored of one session, and what becomes of it.

use idgate_core::Session;

use crate::prepared_session::Prepared;

/// A change of one session, to be stored with all that follows from it.
pub(super) struct Change {
    pub(super) prepared: Prepared,
    /// The key that asked for it, if the session is new.
    pub(super) key_id: Option<String>,
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stored {
    /// It is durable.
    Yes,
    /// The client has as many open sessions as it may; nothing changed.
    NoRoom,
    /// Another write came first, or the session is gone; nothing changed.
    LostRace,
}

impl Change {
    /// A new session that the key `key_id` asked for.
    pub(super) fn new(prepared: Prepared, key_id: &str) -> Self {
        Self { prepared, key_id: Some(key_id.to_owned()) }
    }

    /// Of a session that there is.
    pub(super) const fn of(prepared: Prepared) -> Self {
        Self { prepared, key_id: None }
    }

    pub(super) const fn session(&self) -> &Session {
        &self.prepared.session
    }

    pub(super) const fn is_new(&self) -> bool {
        self.key_id.is_some()
    }

    /// Whether the audit log has an entry of it.
    pub(super) fn is_recorded(&self) -> bool {
        self.is_new() || self.session().settlement().is_some()
    }
}
