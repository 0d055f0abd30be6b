//! The writing thread's erasing: what belongs to deleted and settled sessions leaves the files, their
//! logs included.

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
/// An operator learns of a reader that is in the way for longer.
const HELD_UP_US: u64 = 1_000_000;

impl Writing {
    pub(super) fn is_erasing(&self) -> bool {
        let due = self.erase_spent && !self.spent.is_empty();
        self.erasing.claims || self.erasing.main || !self.orphaned.is_empty() || due
    }

    /// Removes what belongs to deleted and settled sessions, moves the log into the file and cuts
    /// it; what a reader or an error holds up is tried again. Those who waited for it are answered,
    /// but for an error: what they deleted is committed, and a reader that is not the gateway's own
    /// must not hold them up.
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

    /// Tells of an erasure that waits for somebody else, once.
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
                "what was deleted stays in the log of a database until the program that reads it ends"
            );
        }
    }

    /// Cuts the log of a file, if its readers allow it.
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
        // An error leaves it for the next turn.
        self.erase_spent = done.is_err();
        self.erasing.claims |= done?.0 > 0;
        self.spent.clear();
        Ok(())
    }
}
