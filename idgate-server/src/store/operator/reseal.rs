//! Putting one instance key in the place of another.

use idgate_core::time::UnixMillis;

use crate::store::interface::StoreError;

/// What the operator does when another instance key is to seal.
pub trait ResealOperator {
    /// Seals, MACs and signs under the key that seals what was under another one. Ended on the way, it
    /// can be called again. When it is done, no other key is asked for any more, unless there are values
    /// that none of the given ones opens. What is to be erased at `now` is not sealed anew.
    ///
    /// # Errors
    /// A gateway uses the data directory, a node seals with another key, or the database failed.
    fn reseal(&mut self, now: UnixMillis) -> Result<Resealed, StoreError>;

    /// What [`ResealOperator::reseal`] would find; nothing is changed.
    ///
    /// # Errors
    /// The database failed.
    fn sealed(&self) -> Result<Resealed, StoreError>;
}

/// How many values are under which key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Resealed {
    /// Under the key that seals, as they were found.
    pub current: u64,
    /// Under another one that was given, as they were found.
    pub others: u64,
    /// Under none of those, or changed.
    pub unreadable: u64,
}

impl Resealed {
    /// Counts what was found elsewhere, too.
    pub(in crate::store) fn add(&mut self, more: Self) {
        self.current = self.current.saturating_add(more.current);
        self.others = self.others.saturating_add(more.others);
        self.unreadable = self.unreadable.saturating_add(more.unreadable);
    }
}
