//! The numbers of trust, keys and certificates, and the values that were read under them. Requests that ask at the same
//! time share one read.

use std::sync::Arc;

use rusqlite::Connection;

use crate::cache::{Latest, Noted, Numbered};
use crate::db::{Db, at_once};
use crate::shared_reads::SharedReads;
use crate::sqlite::readers::{Reader, Readers};
use crate::types::{Read, StoreError};
use crate::version_numbers::Numbers;
use idgate_base::clock::Moment;

/// The numbers of a file.
#[derive(Default)]
pub(crate) struct CachedNumbers {
    pub(crate) noted: Noted,
    together: Arc<SharedReads<Numbers>>,
}

impl CachedNumbers {
    /// As they were at `since` or later.
    pub(crate) fn since<'a>(
        self: &Arc<Self>,
        readers: &'a Readers,
        since: Moment,
    ) -> Read<'a, Numbers> {
        if let Some(numbers) = self.noted.since(since) {
            return Box::pin(async move { Ok(numbers) });
        }
        let asking = self.clone();
        readers.read_together(&self.together, move |reader: &Reader| {
            asking.with(&reader.main, |_, numbers| Ok(numbers))
        })
    }

    /// Reads them, for all who asked before the moment that `read` is given with them, and something else
    /// of the same state of the file, which is locked once for both.
    pub(crate) fn with<T>(
        &self,
        main: &Connection,
        read: impl FnOnce(Moment, Numbers) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let before = Moment::now();
        let mut statement = main.prepare_cached(Numbers::TEXT)?;
        let mut rows = statement.query([])?;
        let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let numbers = self.noted.note(before, Numbers::at(row, [0, 1, 2])?);
        read(before, numbers)
    }
}

/// The latest that was read of a file, by all who ask for it together.
pub(crate) struct Cache<T> {
    latest: Latest<T>,
    loads: Arc<SharedReads<Arc<T>>>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { latest: Latest::default(), loads: Arc::default() }
    }
}

impl<T: Numbered + Send + Sync + 'static> Cache<T> {
    /// The value in force: the same `Arc` while its number, which is at least `wanted`, has not changed.
    pub(crate) fn current<'a>(
        self: &Arc<Self>,
        readers: &'a Readers,
        wanted: Numbers,
        number: fn(Numbers) -> u64,
        load: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'a, Arc<T>> {
        if let Some(held) = self.latest.at_least(number(wanted)) {
            return Box::pin(async move { Ok(held) });
        }
        let held = self.clone();
        let load = move |reader: &Reader| {
            // Once more: who joined later may know of a later one.
            match held.latest.at_least(number(at_once(Numbers::read(&Db::sqlite(&reader.main)))?)) {
                Some(held) => Ok(held),
                None => Ok(held.latest.keep(load(&reader.main)?)),
            }
        };
        readers.load_together(&self.loads, load)
    }
}
