//! Notifications that were given up, of all clients.

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

    /// Requests one attempt to deliver a dead letter of any client. `None`: no dead letter has that
    /// id. A running server sends it within a second; otherwise the next server does.
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
