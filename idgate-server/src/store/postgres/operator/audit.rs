//! The audit log: verified here, and exported as one JSON object for whoever verifies it elsewhere.

use std::future::Future;
use std::io::Write;

use idgate_core::time::UnixMillis;

use super::super::audit::log::{DatabaseLog, Waits};
use super::super::audit::sign_due;
use super::super::error::Done;
use super::PostgresOperator;
use crate::audit::SignedCheckpoint;
use crate::store::audit::report::Auditor;
use crate::store::audit::{AuditReport, ExportError};
use crate::store::interface::StoreError;

/// Chains signed in one transaction.
const BATCH: usize = 256;

impl PostgresOperator {
    pub(in crate::store) fn verify_audit(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
    ) -> Result<AuditReport, StoreError> {
        let log = &self.log();
        Auditor { log, keys: &self.desk.audit }.verify(client, elsewhere, u64::MAX)
    }

    pub(in crate::store) fn sign_audit(&self, now: UnixMillis) -> Result<(), StoreError> {
        let (pool, keys) = (&self.desk.pool, &self.desk.audit);
        loop {
            let signed = self.run(sign_due(pool, keys, UnixMillis(u64::MAX), BATCH, now))?;
            if signed.all()? < BATCH {
                return Ok(());
            }
        }
    }

    pub(in crate::store) fn export_audit(
        &self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        Auditor { log: &self.log(), keys: &self.desk.audit }.export(client, out)
    }
}

impl PostgresOperator {
    fn log(&self) -> DatabaseLog<'_, &Self> {
        DatabaseLog { pool: &self.desk.pool, keys: &self.desk.audit, waiting: self }
    }
}

impl Waits for &PostgresOperator {
    fn wait<T: Send>(&self, work: impl Future<Output = Done<T>> + Send) -> Result<T, StoreError> {
        self.run(work)
    }
}
