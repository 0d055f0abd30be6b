//! Notifications that were given up, whosever they are.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::store::directory::Change;
use crate::store::interface::{DeadLetter, Replay, StoreError};
use crate::store::operator::DeadLetterOperator;
use crate::store::outbox::dead_letters::{all, replay};

impl DeadLetterOperator for SqliteOperator {
    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        all(&self.main)
    }

    fn replay_dead_letter(
        &mut self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let replayed = replay(&transaction, id, None, now)?;
        transaction.commit()?;
        Ok(replayed)
    }
}
