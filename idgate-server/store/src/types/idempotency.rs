//! Answers under an `Idempotency-Key`: stored with the session, removed with it, and kept for 24
//! hours at most.

use zeroize::Zeroizing;

use super::Beside;

/// A request under an `Idempotency-Key`, and the answer to it.
pub struct Once {
    /// SHA-256 of the key.
    pub key: [u8; 32],
    /// SHA-256 of the request's body.
    pub body: [u8; 32],
    /// The answer as it is sent.
    pub answer: Zeroizing<Vec<u8>>,
    /// The rows that are stored with the session.
    pub beside: Beside,
}

/// An earlier answer.
#[derive(Clone)]
pub struct Answered {
    /// SHA-256 of the body that it answered.
    pub body: [u8; 32],
    /// The answer as it was sent.
    pub answer: Zeroizing<Vec<u8>>,
}

/// The outcome of creating a session under a key.
#[derive(Clone)]
pub enum MadeOnce {
    /// It is stored with its answer.
    Yes,
    /// The client has reached its limit of open sessions; nothing changed.
    NoRoom,
    /// The key was used before.
    Earlier(Answered),
}
