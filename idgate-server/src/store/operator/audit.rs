//! The audit log: verified here, and exported as one JSON object for whoever verifies it elsewhere.

use std::io::Write;

use idgate_core::time::UnixMillis;

use super::OperatorStore;
use crate::audit::SignedCheckpoint;
use crate::store::audit::{AuditReport, ExportError};
use crate::store::interface::StoreError;

/// Commands about the audit log. Each database walks its rows in its own way.
impl OperatorStore {
    /// Walks the chains, or the one of `client`, and compares their heads and checkpoints; besides,
    /// `elsewhere`: checkpoints that were kept outside the data directory.
    ///
    /// # Errors
    /// The database failed; what is wrong with the log is in the report.
    pub fn verify_audit(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
    ) -> Result<AuditReport, StoreError> {
        match self {
            Self::Sqlite(store) => store.verify_audit(client, elsewhere),
            Self::Postgres(store) => store.verify_audit(client, elsewhere),
        }
    }

    /// Signs a checkpoint for every chain that has entries without one, so that an export says
    /// itself where each chain ends.
    ///
    /// # Errors
    /// A chain was altered, or the database failed.
    pub fn sign_audit(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.sign_audit(now),
            Self::Postgres(store) => store.sign_audit(now),
        }
    }

    /// Writes `{"entries":[…],"checkpoints":[…]}` of all chains, or of the one of `client`, oldest
    /// first. `false`: that client has no chain, and nothing was written.
    ///
    /// # Errors
    /// The store or the output failed.
    pub fn export_audit(
        &mut self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        match self {
            Self::Sqlite(store) => store.export_audit(client, out),
            Self::Postgres(store) => store.export_audit(client, out),
        }
    }
}
