//! A read that ends when nobody waits for it any more: a sum over too many rows must not keep a thread
//! that others need.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rusqlite::Connection;

use crate::types::StoreError;

/// How many instructions of SQLite's machine are run between two looks: about a millisecond's.
const STEPS: i32 = 10_000;

/// Somebody waits for a read as long as this lives.
#[derive(Default)]
pub(crate) struct Waiter(Arc<()>);

/// Whether somebody waits.
pub(crate) struct Waited(Weak<()>);

/// What one thread reads.
#[derive(Default)]
pub(crate) struct Underway(Mutex<Option<Waited>>);

impl Waiter {
    /// For the reading side.
    pub(crate) fn waited(&self) -> Waited {
        Waited(Arc::downgrade(&self.0))
    }
}

impl Underway {
    /// Has `conn` ask whether somebody still waits, while it runs a statement.
    pub(crate) fn watch(self: &Arc<Self>, conn: &mut Connection) -> Result<(), StoreError> {
        let underway = self.clone();
        Ok(conn.progress_handler(STEPS, Some(move || underway.is_given_up()))?)
    }

    /// Reads for somebody; the statement at which nobody waits any more fails.
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

/// Also when the read panics: the next one is another's.
struct Ended<'u>(&'u Underway);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
