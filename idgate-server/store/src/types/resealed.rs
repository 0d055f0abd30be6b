//! The instance keys that the stored values are sealed under.

/// How many values are under which key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Resealed {
    /// Under the key that seals, when they were found.
    pub current: u64,
    /// Under another given key, when they were found.
    pub others: u64,
    /// Under none of those, or changed.
    pub unreadable: u64,
}

impl Resealed {
    /// Counts what was found elsewhere, too.
    pub(crate) fn add(&mut self, more: Self) {
        self.current = self.current.saturating_add(more.current);
        self.others = self.others.saturating_add(more.others);
        self.unreadable = self.unreadable.saturating_add(more.unreadable);
    }
}
