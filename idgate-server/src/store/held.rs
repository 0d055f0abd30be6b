//! What is read rarely and used by every request: kept until its number in the database is another.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::lanes::Whose;
use super::readers::{Reader, Readers};
use super::{Read, StoreError};

/// Something that is stored under a number which grows with each change.
pub(super) trait Numbered {
    /// The number that it was read under.
    fn number(&self) -> u64;
}

/// The latest that was read.
pub(super) struct Held<T> {
    latest: Mutex<Option<Arc<T>>>,
    /// One reads it; the others find it read.
    loading: Mutex<()>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { latest: Mutex::new(None), loading: Mutex::new(()) }
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
        let number = readers.read(Whose::GATEWAY, move |reader| number(&reader.main));
        Box::pin(async move {
            let number = number.await?;
            if let Some(held) = self.at_least(number) {
                return Ok(held);
            }
            let held = self.clone();
            let load = move |reader: &Reader| held.load(number, || load(&reader.main));
            readers.read_long(Whose::GATEWAY, load).await
        })
    }

    /// What is held, unless it is older: a request that read its number earlier must not bring an
    /// older one back.
    fn at_least(&self, number: u64) -> Option<Arc<T>> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone().filter(|held| held.number() >= number)
    }

    fn load(
        &self,
        number: u64,
        load: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Arc<T>, StoreError> {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = self.at_least(number) {
            return Ok(held);
        }
        let loaded = Arc::new(load()?);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(loaded.clone());
        Ok(loaded)
    }
}
