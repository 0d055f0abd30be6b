//! Notifications that were given up, whosever they are.

use idgate_core::time::UnixMillis;

use crate::store::interface::{DeadLetter, Replay, StoreError};

/// What the operator does with dead letters.
pub trait DeadLetterOperator {
    /// All dead letters, newest first.
    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError>;

    /// Asks for one attempt to deliver a dead letter, whosever it is; `None`: there is none of that
    /// id. A running server makes it within a second, or else the next one.
    fn replay_dead_letter(
        &mut self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError>;
}
