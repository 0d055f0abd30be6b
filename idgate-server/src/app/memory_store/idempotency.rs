//! Answers under an `Idempotency-Key`, for as long as the store.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::MemoryStore;
use crate::store::{Answered, Caller, IdempotencyStore, Once, StoreError, Write};

impl IdempotencyStore for MemoryStore {
    fn answered(
        &self,
        _: &Caller,
        key: &[u8; 32],
        _: UnixMillis,
    ) -> Result<Option<Answered>, StoreError> {
        Ok(self.inner.lock().unwrap().answers.get(key).cloned())
    }

    fn create_session_once(
        &self,
        transition: Transition,
        once: Once,
    ) -> Write<'_, Option<Answered>> {
        self.write(|inner| {
            let earlier = inner.answers.get(&once.key).cloned();
            if earlier.is_none() {
                inner.note(&transition);
                let session = transition.session;
                inner.sessions.insert(session.id().as_str().to_owned(), session);
                inner.answers.insert(once.key, Answered { body: once.body, answer: once.answer });
            }
            earlier
        })
    }

    fn forget_answers(&self, _: UnixMillis, _: usize) -> Write<'_, usize> {
        self.write(|_| 0)
    }
}
