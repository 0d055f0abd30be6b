//! What is read rarely and used by every request: kept until its number in the database is another.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::interface::{Read, StoreError};
use super::readers::{Reader, Readers};
use super::together::Together;

/// Something that is stored under a number which grows with each change.
pub(super) trait Numbered {
    /// The number that it was read under.
    fn number(&self) -> u64;
}

/// The latest that was read.
pub(super) struct Latest<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Numbered> Latest<T> {
    /// What is held, unless it is older: a request that read its number earlier must not bring an
    /// older one back.
    pub(super) fn at_least(&self, number: u64) -> Option<Arc<T>> {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone().filter(|held| held.number() >= number)
    }

    pub(super) fn keep(&self, loaded: T) -> Arc<T> {
        let loaded = Arc::new(loaded);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(loaded.clone());
        loaded
    }
}

/// The latest that was read of a file, by all who ask for it together.
pub(super) struct Held<T> {
    latest: Latest<T>,
    numbers: Arc<Together<u64>>,
    loads: Arc<Together<Arc<T>>>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { latest: Latest::default(), numbers: Arc::default(), loads: Arc::default() }
    }
}

impl<T: Numbered + Send + Sync + 'static> Held<T> {
    /// What is stored now; the same `Arc` while `number` says the same.
    pub(super) fn current<'a>(
        self: &'a Arc<Self>,
        readers: &'a Readers,
        number: fn(&Connection) -> Result<u64, StoreError>,
        load: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'a, Arc<T>> {
        let wanted =
            readers.read_together(&self.numbers, move |reader: &Reader| number(&reader.main));
        Box::pin(async move {
            if let Some(held) = self.latest.at_least(wanted.await?) {
                return Ok(held);
            }
            let held = self.clone();
            let load = move |reader: &Reader| {
                // Once more: who joined later may know of a later one.
                match held.latest.at_least(number(&reader.main)?) {
                    Some(held) => Ok(held),
                    None => Ok(held.latest.keep(load(&reader.main)?)),
                }
            };
            readers.load_together(&self.loads, load).await
        })
    }
}
