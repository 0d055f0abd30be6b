//! Caches trust, signing keys and certificates, which change rarely and which every request needs.
//! A cached value is valid until its number in the database changes. Reads of a key or a session
//! bring the numbers along. Requests without such a read share one statement that reads the
//! numbers, so every node applies a change from its next request on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::shell::TrustSnapshot;

use super::shared_reads::SharedReads;
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::version_numbers::Numbers;
use idgate_base::clock::Moment;

/// The trust, keys and certificates in force, as far as this process has read them.
#[derive(Default)]
pub(super) struct InForceCache {
    pub(super) noted: Noted,
    pub(super) numbers: Arc<SharedReads<Numbers>>,
    pub(super) trust: Cache<TrustSnapshot>,
    pub(super) gateway_keys: Cache<GatewayKeys>,
    pub(super) certificates: Cache<Certificates>,
}

/// How much a shared read covers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// One row, in one statement.
    Row,
    /// Several statements in one snapshot.
    Moment,
}

/// The latest value, read once for all requests that ask at the same time.
pub(super) struct Cache<T> {
    latest: Mutex<Option<Arc<T>>>,
    pub(super) loads: Arc<SharedReads<Arc<T>>>,
}

/// A value stored under a number that grows with each change.
pub(super) trait Numbered {
    /// The number under which it was read.
    fn number(&self) -> u64;
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { latest: Mutex::new(None), loads: Arc::default() }
    }
}

impl<T: Numbered> Cache<T> {
    /// The cached value, unless it is older than `number`. A request that read its number earlier
    /// must not bring an older value back.
    pub(super) fn at_least(&self, number: u64) -> Option<Arc<T>> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone().filter(|held| held.number() >= number)
    }

    pub(super) fn keep(&self, loaded: T) -> Arc<T> {
        let loaded = Arc::new(loaded);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(loaded.clone());
        loaded
    }
}

/// The latest numbers that were read, and when. Every read of a row brings them along.
#[derive(Default)]
pub(super) struct Noted(Mutex<Option<(Moment, Numbers)>>);

impl Noted {
    /// The numbers as of `since` or later, if known.
    pub(super) fn since(&self, since: Moment) -> Option<Numbers> {
        let latest = *self.latest();
        latest.filter(|(read_at, _)| *read_at >= since).map(|(_, numbers)| numbers)
    }

    /// The latest numbers that are known, however long ago they were read.
    pub(super) fn last(&self) -> Option<Numbers> {
        self.latest().map(|(_, numbers)| numbers)
    }

    /// Notes numbers that were read after `before`, and returns the latest known ones. Numbers only
    /// grow, so concurrent reads never undo each other.
    pub(super) fn note(&self, before: Moment, numbers: Numbers) -> Numbers {
        let mut latest = self.latest();
        let (read_at, numbers) = match *latest {
            None => (before, numbers),
            Some((read_at, known)) => (read_at.max(before), known.max(numbers)),
        };
        *latest = Some((read_at, numbers));
        numbers
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Moment, Numbers)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixtures::TemporaryStore;

    fn numbers(trust: u64) -> Numbers {
        Numbers { trust, gateway_keys: 1, certificates: 1 }
    }

    #[test]
    fn numbers_read_with_a_key_serve_its_request() {
        let store = TemporaryStore::default();
        let caller = store.caller();
        assert!(
            store.sqlite().env.in_force.noted.since(caller.since).is_some(),
            "nothing has to be asked for"
        );
    }

    #[test]
    fn concurrent_reads_never_go_back_to_older_numbers() {
        let noted = Noted::default();
        let (first, second) = (Moment::now(), Moment::now());
        // The second read began later and still saw less.
        assert_eq!(noted.note(second, numbers(1)).trust, 1);
        assert_eq!(noted.note(first, numbers(2)).trust, 2);
        assert_eq!(noted.note(second, numbers(1)).trust, 2);
        assert!(noted.since(second).is_some() && noted.since(Moment::now()).is_none());
    }
}
