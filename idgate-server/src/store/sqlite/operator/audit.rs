//! The audit log: verified here, and exported as one JSON object for whoever verifies it elsewhere.

use std::io::Write;

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::audit::SignedCheckpoint;
use crate::store::audit::{AuditReport, Auditor, Chain, checkpoints, exported};
use crate::store::interface::StoreError;
use crate::store::operator::{AuditOperator, ExportError};
use crate::store::sql::begin;

/// Chains signed in one transaction.
const BATCH: usize = 256;

impl AuditOperator for SqliteOperator {
    fn verify_audit(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
    ) -> Result<AuditReport, StoreError> {
        self.auditor().verify(client, elsewhere, u64::MAX)
    }

    fn sign_audit(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        loop {
            let transaction = begin(&mut self.main)?;
            let all = UnixMillis(u64::MAX);
            let chains = checkpoints::sign_due(&transaction, &self.audit, all, BATCH, now)?;
            transaction.commit()?;
            if chains.all()? < BATCH {
                return Ok(());
            }
        }
    }

    fn export_audit(
        &mut self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        let chains = self.auditor().chains(client)?.chains;
        if client.is_some() && chains.is_empty() {
            return Ok(false);
        }
        out.write_all(b"{\"entries\":[")?;
        let mut separator = "\n";
        for chain in chains.values() {
            self.export_chain(chain, out, &mut separator)?;
        }
        out.write_all(b"\n],\"checkpoints\":[")?;
        let mut separator = "\n";
        for checkpoint in chains.values().flat_map(|chain| &chain.checkpoints) {
            write!(out, "{separator}{checkpoint}")?;
            separator = ",\n";
        }
        out.write_all(b"\n],\"removals\":[")?;
        let mut separator = "\n";
        for removal in chains.values().filter_map(|chain| chain.removal.as_ref()) {
            write!(out, "{separator}{removal}")?;
            separator = ",\n";
        }
        out.write_all(b"\n]}\n")?;
        out.flush()?;
        Ok(true)
    }
}

impl SqliteOperator {
    fn export_chain(
        &self,
        chain: &Chain,
        out: &mut dyn Write,
        separator: &mut &'static str,
    ) -> Result<(), ExportError> {
        let mut written = Ok(());
        self.auditor().each_entry(&chain.client_id, (0, chain.last), |entry| {
            written = write!(out, "{separator}{}", exported(&chain.client_id, entry));
            *separator = ",\n";
            Ok(written.is_ok())
        })?;
        Ok(written?)
    }

    /// Reads the log of this directory.
    fn auditor(&self) -> Auditor<'_> {
        Auditor { main: &self.main, keys: &self.audit }
    }
}
