//! Answers under an `Idempotency-Key`, for as long as the store.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::MemoryStore;
use crate::store::{Answered, Caller, IdempotencyStore, MadeOnce, Once, Read, Write};

impl IdempotencyStore for MemoryStore {
    fn answered(&self, _: &Caller, key: &[u8; 32], _: UnixMillis) -> Read<'_, Option<Answered>> {
        let found = self.inner.lock().unwrap().answers.get(key).cloned();
        Box::pin(async { Ok(found) })
    }

    fn create_session_once(
        &self,
        _: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        self.write(|inner| {
            if let Some(earlier) = inner.answers.get(&once.key) {
                return MadeOnce::Earlier(earlier.clone());
            }
            inner.note(&transition);
            let session = transition.session;
            inner.sessions.insert(session.id().as_str().to_owned(), session);
            inner.answers.insert(once.key, Answered { body: once.body, answer: once.answer });
            MadeOnce::Yes
        })
    }

    fn forget_answers(&self, _: UnixMillis, _: usize) -> Write<'_, usize> {
        self.write(|_| 0)
    }
}
