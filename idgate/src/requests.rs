//! How many requests an answer of a wallet may still cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests that are left, for all fetches that share them: first ones, second ones for another form, and
/// those that redirects lead to.
#[derive(Clone, Debug)]
pub(crate) struct Requests(Arc<AtomicUsize>);

impl Requests {
    /// So many.
    pub(crate) fn of(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    /// Takes one; `false`: there is none.
    pub(crate) fn take(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
