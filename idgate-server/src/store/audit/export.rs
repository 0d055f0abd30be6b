//! The audit log as one JSON object, for whoever verifies it elsewhere.

use std::io::{self, Write};

use super::report::{Auditor, Chain};
use crate::audit::{AuditEntry, StoredEntry, hex};
use crate::store::interface::StoreError;

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

impl Auditor<'_> {
    /// Writes `{"entries":[…],"checkpoints":[…],"removals":[…]}` of all chains, or of the one of
    /// `client`, oldest first. `false`: that client has no chain, and nothing was written.
    pub(in crate::store) fn export(
        &self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        let chains = self.log.moment(client)?.chains;
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
        self.each_entry(&chain.client_id, (0, chain.last), |entry| {
            written = write!(out, "{separator}{}", exported(&chain.client_id, entry));
            *separator = ",\n";
            Ok(written.is_ok())
        })?;
        Ok(written?)
    }
}

/// An entry as an export shows it: its fields and both hashes.
fn exported(client_id: &str, entry: &StoredEntry<'_>) -> serde_json::Value {
    // What cannot be read any more keeps its place and its hashes, and is found by them.
    let fields = serde_json::from_str::<AuditEntry>(entry.fields).ok();
    let mut shown = fields
        .and_then(|fields| serde_json::to_value(fields).ok())
        .unwrap_or_else(|| serde_json::json!({ "client_id": client_id, "seq": entry.seq }));
    if let Some(members) = shown.as_object_mut() {
        members.insert("prev_hash".into(), hex(entry.prev_hash).into());
        members.insert("entry_hash".into(), hex(entry.entry_hash).into());
    }
    shown
}
