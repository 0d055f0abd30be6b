//! The audit log: verified here, and exported as one JSON object for whoever verifies it elsewhere.

use std::io::Write;

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::audit::SignedCheckpoint;
use crate::store::audit::report::Auditor;
use crate::store::audit::{AuditReport, ExportError, Rows, checkpoints};
use crate::store::directory::Change;
use crate::store::interface::StoreError;

/// Chains signed in one transaction.
const BATCH: usize = 256;

impl SqliteOperator {
    pub(in crate::store) fn verify_audit(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
    ) -> Result<AuditReport, StoreError> {
        Auditor { log: &self.log(), keys: &self.audit }.verify(client, elsewhere, u64::MAX)
    }

    pub(in crate::store) fn sign_audit(&self, now: UnixMillis) -> Result<(), StoreError> {
        loop {
            let transaction = Change::begin(&self.main, &self.first)?;
            let all = UnixMillis(u64::MAX);
            let chains = checkpoints::sign_due(&transaction, &self.audit, all, BATCH, now)?;
            transaction.commit()?;
            if chains.all()? < BATCH {
                return Ok(());
            }
        }
    }

    pub(in crate::store) fn export_audit(
        &self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        Auditor { log: &self.log(), keys: &self.audit }.export(client, out)
    }
}

impl SqliteOperator {
    /// The log of this directory.
    fn log(&self) -> Rows<'_> {
        Rows { main: &self.main, keys: &self.audit }
    }
}
