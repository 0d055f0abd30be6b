//! Erasing by the writing thread: data of deleted and settled sessions leaves the files and their
//! logs.

use std::time::Duration;

use rusqlite::Connection;

use crate::sqlite::claims;
use crate::sqlite::files::{BUSY_TIMEOUT, truncate_log};
use crate::sqlite::session_keys;
use crate::sqlite::writer::Writing;
use crate::types::StoreError;
use idgate_base::clock::Stopwatch;

/// How long an erasure waits for readers that are about to finish.
const ERASE_WAIT: Duration = Duration::from_millis(10);
/// The log reports a reader that is in the way for longer than this.
const HELD_UP_US: u64 = 1_000_000;

impl Writing {
    pub(super) fn is_erasing(&self) -> bool {
        let due = self.erase_spent && !self.spent.is_empty();
        self.erasing.claims || self.erasing.main || !self.orphaned.is_empty() || due
    }

    /// Removes data of deleted and settled sessions, checkpoints the log and truncates it. What a
    /// reader or an error holds up is retried. Waiting jobs are answered even if a reader is in the
    /// way, because their deletion is committed and a foreign reader must not block them. After an
    /// error they keep waiting.
    pub(super) fn erase(&mut self) {
        let removed = self.remove_orphaned().and_then(|()| self.remove_spent());
        self.disk.note(&removed);
        if removed.is_err() {
            return;
        }
        self.erasing.claims = self.erasing.claims && !self.is_log_cut(&self.claims);
        self.erasing.main = self.erasing.main && !self.is_log_cut(&self.main);
        for job in self.waiting.drain(..) {
            job.answer(Ok(()));
        }
        self.note_readers();
    }

    /// Logs once that an erasure waits for a foreign reader.
    fn note_readers(&mut self) {
        if !self.is_erasing() {
            (self.held_up, self.told) = (None, false);
            return;
        }
        let since = *self.held_up.get_or_insert_with(Stopwatch::new);
        if !self.told && since.elapsed_us() > HELD_UP_US {
            self.told = true;
            let (claims, main) = (self.erasing.claims, self.erasing.main);
            tracing::warn!(
                claims,
                main,
                "deleted data stays in the log of a database until the program that reads it ends"
            );
        }
    }

    /// Truncates the log of a file, if its readers allow it.
    fn is_log_cut(&self, conn: &Connection) -> bool {
        let _ = conn.busy_timeout(ERASE_WAIT);
        let cut = truncate_log(conn);
        let _ = conn.busy_timeout(BUSY_TIMEOUT);
        self.disk.note(&cut);
        cut.unwrap_or(false)
    }

    fn remove_orphaned(&mut self) -> Result<(), StoreError> {
        if self.orphaned.is_empty() {
            return Ok(());
        }
        let transaction = self.claims.unchecked_transaction()?;
        let ids = self.orphaned.iter().map(|(id, _)| id);
        let mut removed = session_keys::remove(&transaction, ids)? > 0;
        for (id, settled_at) in &self.orphaned {
            if let Some(settled_at) = settled_at {
                removed |= claims::remove(&transaction, id, *settled_at)?;
            }
        }
        transaction.commit()?;
        self.orphaned.clear();
        self.erasing.claims |= removed;
        Ok(())
    }

    fn remove_spent(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.erase_spent) || self.spent.is_empty() {
            return Ok(());
        }
        let transaction = self.claims.unchecked_transaction()?;
        let removed = session_keys::remove(&transaction, &self.spent);
        let done = removed.and_then(|removed| Ok((removed, transaction.commit()?)));
        // After an error it is retried next time.
        self.erase_spent = done.is_err();
        self.erasing.claims |= done?.0 > 0;
        self.spent.clear();
        Ok(())
    }
}
