//! The number of requests that a wallet's answer may still cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The remaining requests, for all fetches that share them: first ones, second ones for another
/// form, and redirects.
#[derive(Clone, Debug)]
pub(crate) struct Requests(Arc<AtomicUsize>);

impl Requests {
    /// This many requests.
    pub(crate) fn of(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    /// Takes one; `false`: none is left.
    pub(crate) fn take(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
