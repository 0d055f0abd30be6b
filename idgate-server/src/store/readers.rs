//! Read-only connections, one per core. Each use is one or two statements long, so that no reader
//! keeps an old state of the files alive.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::Connection;

use super::StoreError;
use super::schema::{claims_path, main_path, open_for_reading};

/// One connection to each file.
pub(super) struct Reader {
    pub(super) main: Connection,
    pub(super) claims: Connection,
}

pub(super) struct Readers {
    idle: Mutex<Vec<Reader>>,
    returned: Condvar,
}

impl Readers {
    pub(super) fn open(dir: &Path, count: usize) -> Result<Self, StoreError> {
        let open = |_| {
            let main = open_for_reading(&main_path(dir))?;
            let claims = open_for_reading(&claims_path(dir))?;
            Ok(Reader { main, claims })
        };
        let idle = (0..count.max(1)).map(open).collect::<Result<_, StoreError>>()?;
        Ok(Self { idle: Mutex::new(idle), returned: Condvar::new() })
    }

    /// Reads with an idle connection, waiting for one if need be.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let lent = Lent { reader: Some(self.take()), home: self };
        lent.reader.as_ref().map_or_else(|| Err(StoreError::Busy), read)
    }

    fn take(&self) -> Reader {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(reader) = idle.pop() {
                return reader;
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Goes back to the others even when the reading panics.
struct Lent<'a> {
    reader: Option<Reader>,
    home: &'a Readers,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.home.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            self.home.returned.notify_one();
        }
    }
}
