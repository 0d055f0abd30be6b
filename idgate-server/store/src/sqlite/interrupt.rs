//! Cancels a read when its caller stops waiting: a sum over too many rows must not occupy a thread
//! that others need.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rusqlite::Connection;

use crate::types::StoreError;

/// How many steps of SQLite's virtual machine run between two checks: about a millisecond.
const STEPS: i32 = 10_000;

/// A caller waits for a read as long as this value lives.
#[derive(Default)]
pub(crate) struct Waiter(Arc<()>);

/// Tells whether the caller still waits.
pub(crate) struct Waited(Weak<()>);

/// The current read of one thread.
#[derive(Default)]
pub(crate) struct Underway(Mutex<Option<Waited>>);

impl Waiter {
    /// The handle for the reading side.
    pub(crate) fn waited(&self) -> Waited {
        Waited(Arc::downgrade(&self.0))
    }
}

impl Underway {
    /// Makes `conn` check, while it runs a statement, whether the caller still waits.
    pub(crate) fn watch(self: &Arc<Self>, conn: &mut Connection) -> Result<(), StoreError> {
        let underway = self.clone();
        Ok(conn.progress_handler(STEPS, Some(move || underway.is_given_up()))?)
    }

    /// Reads for a caller. A statement fails if the caller stops waiting during it.
    pub(crate) fn run<T>(&self, waited: Waited, read: impl FnOnce() -> T) -> T {
        self.set(Some(waited));
        let _ended = Ended(self);
        read()
    }

    fn is_given_up(&self) -> bool {
        let waited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waited.as_ref().is_some_and(|waited| waited.0.strong_count() == 0)
    }

    fn set(&self, waited: Option<Waited>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waited;
    }
}

/// Runs even if the read panics: the next read is for another caller.
struct Ended<'u>(&'u Underway);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
