//! The audit log: verified here, and exported as one JSON object for whoever verifies it elsewhere.

use std::io::{self, Write};

use idgate_core::time::UnixMillis;

use super::super::audit::{AuditReport, Auditor, Chain, checkpoints, exported};
use super::super::interface::StoreError;
use super::super::sql::begin;
use super::OperatorStore;
use crate::audit::SignedCheckpoint;

/// Chains signed in one transaction.
const BATCH: usize = 256;

/// Why an export is not complete.
#[derive(Debug)]
pub enum ExportError {
    /// The store failed.
    Store(StoreError),
    /// What was exported could not be written.
    Output(io::Error),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

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
        self.auditor().verify(client, elsewhere, u64::MAX)
    }

    /// Signs a checkpoint for every chain that has entries without one, so that an export says
    /// itself where each chain ends.
    ///
    /// # Errors
    /// A chain was altered, or the database failed.
    pub fn sign_audit(&mut self, now: UnixMillis) -> Result<(), StoreError> {
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
