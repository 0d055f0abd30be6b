//! The context of a job on the writing thread.

use idgate_core::UnixMillis;
use rusqlite::Connection;

use crate::audit_chain::AuditEvent;
use crate::metrics::Measured;
use crate::sqlite::audit;
use crate::types::StoreError;

/// The context of a job.
pub(crate) struct Batch<'c> {
    /// The main database, inside the transaction.
    pub(crate) main: &'c Connection,
    /// The audit log, inside the transaction.
    pub(crate) chains: audit::Chains<'c>,
    pub(super) claims: &'c Connection,
    pub(super) claims_open: bool,
    /// The files that may still contain deleted rows after the group.
    pub(super) erase: Erasing,
    /// Sessions whose results and keys are erased once the group is committed.
    pub(super) orphaned: Vec<Deleted>,
    /// Sessions whose keys are obsolete once the group is committed.
    pub(super) spent: Vec<String>,
    pub(super) erase_spent: bool,
    pub(super) answer_after_erasure: bool,
    /// Whether notifications can be sent once the group is committed.
    pub(super) rings: bool,
    /// Sessions that this group created or settled.
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

    /// Records a change by this job in the chain of `client_id`.
    pub(crate) fn audit(&mut self, client_id: &str, event: AuditEvent) -> Result<(), StoreError> {
        self.chains.append(client_id, event)
    }

    /// Counts a session that this job creates or settles.
    pub(crate) fn measure(&mut self, measured: Measured) {
        self.measured.push(measured);
    }

    /// Announces to the sender of notifications, after the commit, that this job queued one which can
    /// be sent. If the job fails in the end, the sender finds nothing to send.
    pub(crate) fn ring(&mut self) {
        self.rings = true;
    }

    /// Requests that deleted results leave every file soon.
    pub(crate) fn erase_soon(&mut self) {
        self.erase.claims = true;
    }

    /// Requests that other rows which this job deleted leave every file soon.
    pub(crate) fn erase_main_soon(&mut self) {
        self.erase.main = true;
    }

    /// Notes that the key of a session that this job settles has to be erased with the next
    /// [`Batch::erase_spent_keys`].
    pub(crate) fn spend_key(&mut self, session_id: &str) {
        self.spent.push(session_id.to_owned());
    }

    /// Requests that the keys of settled sessions leave every file soon. It is not done with each
    /// settlement, because the log would be truncated all the time.
    pub(crate) fn erase_spent_keys(&mut self) {
        self.erase_spent = true;
    }

    /// Requests that a session which this job deletes leaves every file, with its result if it has
    /// settled. The job is answered after the first attempt, because a reader may delay the last
    /// bytes.
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

    /// Discards what a failed job noted, and its audit entries.
    pub(super) fn forget_since(&mut self, before: Noted) {
        self.orphaned.truncate(before.orphaned);
        self.spent.truncate(before.spent);
        self.measured.truncate(before.measured);
        self.chains.forget();
    }
}

/// A deleted session, and when it had settled.
pub(super) type Deleted = (String, Option<UnixMillis>);

/// How much was noted at one point.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    orphaned: usize,
    spent: usize,
    measured: usize,
}

/// The files that may still contain deleted rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Erasing {
    pub(super) claims: bool,
    pub(super) main: bool,
}
