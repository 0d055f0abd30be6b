//! Notifications that were given up, whosever they are.

use idgate_core::time::UnixMillis;

use super::super::outbox::dead_letters::{all, replay};
use super::PostgresOperator;
use crate::store::interface::{DeadLetter, Replay, StoreError};
use crate::store::operator::DeadLetterOperator;

impl DeadLetterOperator for PostgresOperator {
    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.run(async { all(&self.desk.pool.client().await?).await })
    }

    fn replay_dead_letter(
        &mut self,
        id: &str,
        _now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError> {
        self.run(async { replay(&self.desk.pool.client().await?, id, None, None).await })
    }
}
