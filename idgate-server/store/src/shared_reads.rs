//! Reads that many callers request at the same time and that give the same answer to all. One read
//! serves all callers that asked before it began. Later callers may know of a later change, and
//! wait for the next read.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::types::StoreError;

/// The callers that wait for the next read.
pub(super) struct SharedReads<T>(Mutex<Vec<Asker<T>>>);

pub(super) type Asker<T> = oneshot::Sender<Result<T, StoreError>>;

impl<T> Default for SharedReads<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> SharedReads<T> {
    /// Waits with the others. `true`: the caller is the first, and has to start the read.
    pub(super) fn join(&self, asker: Asker<T>) -> bool {
        let mut askers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        askers.push(asker);
        askers.len() == 1
    }

    /// Reads for all callers that are waiting now, if there are any. If `read` panics they get no
    /// answer.
    pub(super) fn answer(&self, read: impl FnOnce() -> Result<T, StoreError>) {
        let askers = self.leave();
        if askers.iter().all(oneshot::Sender::is_closed) {
            return;
        }
        tell(askers, &read());
    }

    /// Takes the waiting callers out.
    pub(super) fn leave(&self) -> Vec<Asker<T>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sends the same outcome to all of them.
pub(super) fn tell<T: Clone>(askers: Vec<Asker<T>>, outcome: &Result<T, StoreError>) {
    for asker in askers {
        // The request may no longer wait.
        let _ = asker.send(outcome.clone());
    }
}
