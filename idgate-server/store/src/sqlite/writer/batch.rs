//! What a job of the writing thread works with.

use idgate_core::UnixMillis;
use rusqlite::Connection;

use crate::audit_chain::AuditEvent;
use crate::metrics::Measured;
use crate::sqlite::audit;
use crate::types::StoreError;

/// What a job works with.
pub(crate) struct Batch<'c> {
    /// The main database, inside the transaction.
    pub(crate) main: &'c Connection,
    /// The audit log, inside the transaction.
    pub(crate) chains: audit::Chains<'c>,
    pub(super) claims: &'c Connection,
    pub(super) claims_open: bool,
    /// What may be in a file, although deleted, when the group is done.
    pub(super) erase: Erasing,
    /// Sessions whose results and keys go once the group is committed.
    pub(super) orphaned: Vec<Deleted>,
    /// Sessions whose keys are of no use once the group is committed.
    pub(super) spent: Vec<String>,
    pub(super) erase_spent: bool,
    pub(super) answer_after_erasure: bool,
    /// Sessions that this group made or settled.
    pub(super) measured: Vec<Measured>,
}

impl<'c> Batch<'c> {
    /// The results, inside a transaction that begins with the first use.
    pub(crate) fn claims(&mut self) -> Result<&'c Connection, StoreError> {
        if !self.claims_open {
            self.claims.execute_batch("BEGIN IMMEDIATE")?;
            self.claims_open = true;
        }
        Ok(self.claims)
    }

    /// Records what this job changes, in the chain of `client_id`.
    pub(crate) fn audit(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
        self.chains.append(client_id, event)
    }

    /// Counts a session that this job makes or settles.
    pub(crate) fn measure(&mut self, measured: Measured) {
        self.measured.push(measured);
    }

    /// Asks that deleted results leave every file soon.
    pub(crate) fn erase_soon(&mut self) {
        self.erase.claims = true;
    }

    /// Asks that what this job deleted beside results leaves every file soon.
    pub(crate) fn erase_main_soon(&mut self) {
        self.erase.main = true;
    }

    /// Notes that the key of a session that this job settles must go with the next
    /// [`Batch::erase_spent_keys`].
    pub(crate) fn spend_key(&mut self, session_id: &str) {
        self.spent.push(session_id.to_owned());
    }

    /// Asks that the keys of settled sessions leave every file soon. Not with each settlement: the
    /// log would be cut all the time.
    pub(crate) fn erase_spent_keys(&mut self) {
        self.erase_spent = true;
    }

    /// Asks that a session that this job deletes leaves every file, with its result if it has settled,
    /// and that the job is answered after the first attempt: a reader may be in the way of the last bytes.
    pub(crate) fn erase_session(&mut self, session_id: &str, settled_at: Option<UnixMillis>) {
        self.erase.main = true;
        self.orphaned.push((session_id.to_owned(), settled_at));
        self.answer_after_erasure = true;
    }

    /// How much was noted for after the commit.
    pub(super) fn noted(&self) -> Noted {
        Noted {
            orphaned: self.orphaned.len(),
            spent: self.spent.len(),
            measured: self.measured.len(),
        }
    }

    /// Forgets what a failed job noted, and its audit entries.
    pub(super) fn forget_since(&mut self, before: Noted) {
        self.orphaned.truncate(before.orphaned);
        self.spent.truncate(before.spent);
        self.measured.truncate(before.measured);
        self.chains.forget();
    }
}

/// A session that was deleted, and when it had settled.
pub(super) type Deleted = (String, Option<UnixMillis>);

/// How much was noted at one moment.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    orphaned: usize,
    spent: usize,
    measured: usize,
}

/// The files that may still hold something deleted.
#[derive(Clone, Copy, Default)]
pub(super) struct Erasing {
    pub(super) claims: bool,
    pub(super) main: bool,
}
