//! Decisions by what memory has.

use idgate_core::Session;

use crate::types::InForce;
use crate::version_numbers::Numbers;

/// An open session, in the state in which this gateway stored it, with the latest trust, keys and
/// certificates that this gateway knows. All of it may have changed since.
pub struct Recalled {
    /// The session, with its key.
    pub session: Session,
    /// Trust, keys and certificates.
    pub in_force: InForce,
    /// For [`crate::Store::commit_by`]: stores a transition only if nothing has changed.
    pub basis: Basis,
}

/// The source of a decision. The default: rows read for the request. Then only the session's
/// revision must still be the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basis(pub(super) Option<Numbers>);

impl Basis {
    /// Whether memory is the source. Then [`crate::Committed::LostRace`] may only mean that memory
    /// was out of date.
    pub const fn is_recalled(self) -> bool {
        self.0.is_some()
    }
}
