//! What was answered under an `Idempotency-Key`: with the session, and gone with it; 24 hours at
//! most.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;
use zeroize::Zeroizing;

use super::{Beside, Caller, Read, Write};

/// What a running gateway keeps about idempotent requests.
pub trait IdempotencyStore {
    /// What was answered to this client under the key with this digest.
    fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>>;

    /// Inserts a new session, as [`super::SessionStore::create_session`] does, with its answer. When the
    /// key was used before, however recently, nothing is stored and the earlier answer comes back.
    fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce>;

    /// Removes answers that are too old, at most `limit`, and says how many.
    fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize>;
}

/// A request under an `Idempotency-Key`, and the answer to it.
pub struct Once {
    /// SHA-256 of the key.
    pub key: [u8; 32],
    /// SHA-256 of the request's body.
    pub body: [u8; 32],
    /// As it is sent.
    pub answer: Zeroizing<Vec<u8>>,
    /// What is stored with the session.
    pub beside: Beside,
}

/// An earlier answer.
#[derive(Clone)]
pub struct Answered {
    /// SHA-256 of the body that it answered.
    pub body: [u8; 32],
    /// As it was sent.
    pub answer: Zeroizing<Vec<u8>>,
}

/// What became of a session that was asked for under a key.
#[derive(Clone)]
pub enum MadeOnce {
    /// It is stored, with its answer.
    Yes,
    /// The client has as many open sessions as it may; nothing changed.
    NoRoom,
    /// The key was used before.
    Earlier(Answered),
}
