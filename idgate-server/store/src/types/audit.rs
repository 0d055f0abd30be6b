//! Pages and checkpoints of the audit log.

use crate::audit_chain::AuditEntry;

/// One entry of a list.
#[derive(Clone, Debug)]
pub struct ListedEntry {
    /// `None`: what is stored is not an entry.
    pub entry: Option<AuditEntry>,
    /// Lower-case hex.
    pub prev_hash: String,
    /// Lower-case hex.
    pub entry_hash: String,
    /// Whether its own hash recomputes and its `prev_hash` is its predecessor's hash.
    pub chain_intact: bool,
}

/// Part of a list.
#[derive(Clone, Debug)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<ListedEntry>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A checkpoint that the checkpoint file does not have yet.
#[derive(Clone, Debug)]
pub struct UnwrittenCheckpoint {
    /// Whose chain.
    pub client_id: String,
    /// Its last entry.
    pub seq: u64,
    /// One line of JSON.
    pub line: String,
}

/// The result of signing the chains that are due.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SignedChains {
    /// How many have a new checkpoint.
    pub signed: usize,
    /// Whose head is not what the instance wrote: for them nothing is signed any more.
    pub altered: Vec<String>,
}
