//! What was answered under an `Idempotency-Key`: with the session, and gone with it; 24 hours at
//! most.

use zeroize::Zeroizing;

use super::Beside;

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
