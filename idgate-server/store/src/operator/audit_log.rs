//! Verifies the audit log here, or exports it as one JSON object for verification elsewhere.

use std::io::Write;

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::audit::report::{Auditor, Log};
use crate::audit::{AuditReport, ExportError, checkpoints};
use crate::audit_chain::SignedCheckpoint;
use crate::types::StoreError;

/// Chains that are signed in one transaction.
const BATCH: usize = 256;

/// Commands about the audit log.
impl OperatorStore {
    /// Walks all chains or the one of `client`, and compares their heads and checkpoints. Also
    /// compares `elsewhere`: checkpoints from a file outside the data directory.
    ///
    /// # Errors
    /// The database failed. Damage to the log is in the report.
    pub fn verify_audit(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
    ) -> Result<AuditReport, StoreError> {
        Auditor { log: self.log(), keys: self.audit_keys() }.verify(client, elsewhere, u64::MAX)
    }

    /// Signs a checkpoint for every chain that has unsigned entries, so that an export proves where
    /// each chain ends.
    ///
    /// # Errors
    /// A chain was altered, or the database failed.
    pub fn sign_audit(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        let (keys, all) = (self.audit_keys(), UnixMillis(u64::MAX));
        loop {
            let signed =
                self.change(async |db| checkpoints::sign_due(db, keys, all, BATCH, now).await)?;
            if signed.all()? < BATCH {
                return Ok(());
            }
        }
    }

    /// Writes `{"entries":[…],"checkpoints":[…]}` of all chains, or of the chain of `client`,
    /// oldest first. `false`: that client has no chain, and nothing was written.
    ///
    /// # Errors
    /// The store or the output failed.
    pub fn export_audit(
        &mut self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        Auditor { log: self.log(), keys: self.audit_keys() }.export(client, out)
    }

    fn log(&self) -> &dyn Log {
        match self {
            Self::Sqlite(log) => log,
            Self::Postgres(log) => log,
        }
    }
}
