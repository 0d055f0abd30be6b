//! Pages and checkpoints of the audit log.

use crate::audit_chain::AuditEntry;

/// One entry of a list.
#[derive(Clone, Debug)]
pub struct ListedEntry {
    /// `None`: the stored value is not an entry.
    pub entry: Option<AuditEntry>,
    /// Lower-case hex.
    pub prev_hash: String,
    /// Lower-case hex.
    pub entry_hash: String,
    /// Whether its own hash is right, and its `prev_hash` is its predecessor's hash.
    pub chain_intact: bool,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<ListedEntry>,
    /// The cursor for the next page. `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A checkpoint that is not in the checkpoint file yet.
#[derive(Clone, Debug)]
pub struct UnwrittenCheckpoint {
    /// The client whose chain it covers.
    pub client_id: String,
    /// The number of the chain's last entry.
    pub seq: u64,
    /// One line of JSON.
    pub line: String,
}

/// The result of signing due checkpoints.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SignedChains {
    /// How many chains have a new checkpoint.
    pub signed: usize,
    /// Chains whose head the instance did not write. Nothing is signed for them any more.
    pub altered: Vec<String>,
}
