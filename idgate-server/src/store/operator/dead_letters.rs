//! Notifications that were given up, whosever they are.

use idgate_core::time::UnixMillis;

use super::super::interface::{DeadLetter, Replay, StoreError};
use super::super::outbox::dead_letters::{all, replay};
use super::super::sql::begin;
use super::OperatorStore;

impl OperatorStore {
    /// All dead letters, newest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        all(&self.main)
    }

    /// Asks for one attempt to deliver a dead letter, whosever it is; `None`: there is none of that
    /// id. A running server makes it within a second, or else the next one.
    pub fn replay_dead_letter(
        &mut self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError> {
        let transaction = begin(&mut self.main)?;
        let replayed = replay(&transaction, id, None, now)?;
        transaction.commit()?;
        Ok(replayed)
    }
}
