//! Reads that many ask for at the same time and that say the same to all: made once for those who
//! asked before it began. Whoever asks later may know of a later change, and waits for the next one.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::types::StoreError;

/// Those who wait for the next read.
pub(super) struct SharedReads<T>(Mutex<Vec<Asker<T>>>);

pub(super) type Asker<T> = oneshot::Sender<Result<T, StoreError>>;

impl<T> Default for SharedReads<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> SharedReads<T> {
    /// Waits with the others; `true`: there is nobody else, so that the read has to be asked for.
    pub(super) fn join(&self, asker: Asker<T>) -> bool {
        let mut askers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        askers.push(asker);
        askers.len() == 1
    }

    /// Reads for all who wait at this moment, if anybody still does. When `read` panics they are
    /// left without an answer.
    pub(super) fn answer(&self, read: impl FnOnce() -> Result<T, StoreError>) {
        let askers = self.leave();
        if askers.iter().all(oneshot::Sender::is_closed) {
            return;
        }
        tell(askers, &read());
    }

    /// Those who wait, who do so no more.
    pub(super) fn leave(&self) -> Vec<Asker<T>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Gives all of them the same outcome.
pub(super) fn tell<T: Clone>(askers: Vec<Asker<T>>, outcome: &Result<T, StoreError>) {
    for asker in askers {
        // A request that no longer waits needs no answer.
        let _ = asker.send(outcome.clone());
    }
}
