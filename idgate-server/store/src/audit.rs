//! The audit log: chains of entries, their signed checkpoints, and the removal of old entries.

pub(super) mod checkpoints;
mod export;
pub(super) mod head;
pub(super) mod heads;
pub(super) mod page;
pub(super) mod proof;
pub(super) mod removal;
pub(super) mod report;
pub(super) mod rows;

pub use self::export::ExportError;
pub(super) use self::head::Head;
pub use self::report::AuditReport;
use super::types::{SignedChains, StoreError};

/// The most entries of a chain that may follow its last checkpoint.
pub(super) const CHECKPOINT_EVERY: u64 = 1000;

impl SignedChains {
    /// Returns how many were signed, if no chain was altered.
    ///
    /// # Errors
    /// A chain was altered; the operator has to look at it.
    pub fn all(self) -> Result<usize, StoreError> {
        match self.altered.first() {
            None => Ok(self.signed),
            Some(_) => Err(StoreError::Failed(altered(&self.altered.join(", ")))),
        }
    }
}

pub(super) fn altered(whose: &str) -> String {
    format!(
        "the audit log of {whose} was altered outside idgate, so nothing can be added to it; \
         `idgate audit verify` says where, and a backup has it as it was"
    )
}
