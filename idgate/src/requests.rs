//! How many more requests a wallet's answer may cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The requests that are left, for all fetches that share them: first requests, second requests for
/// another form, and redirects.
#[derive(Clone, Debug)]
pub(crate) struct Requests(Arc<AtomicUsize>);

impl Requests {
    /// That many requests.
    pub(crate) fn of(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    /// Takes one request; `false`: none is left.
    pub(crate) fn take(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
