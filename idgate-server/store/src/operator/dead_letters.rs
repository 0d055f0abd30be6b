//! Notifications that were given up, whosever they are.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::outbox::dead_letters::{all, replay};
use crate::types::{DeadLetter, Replay, StoreError};

/// Commands about dead letters.
impl OperatorStore {
    /// All dead letters, newest first.
    ///
    /// # Errors
    /// The database failed.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.read(async |db| all(db).await)
    }

    /// Asks for one attempt to deliver a dead letter, whosever it is; `None`: there is none of that
    /// id. A running server makes it within a second, or else the next one.
    ///
    /// # Errors
    /// The database failed.
    pub fn replay_dead_letter(
        &mut self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError> {
        self.change(async |db| {
            let due_at = db.clock(now).await?;
            replay(db, id, None, due_at).await
        })
    }
}
