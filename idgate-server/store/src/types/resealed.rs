//! The instance keys that stored values are sealed with.

/// How many values are sealed with which key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Resealed {
    /// With the key that seals, as found.
    pub current: u64,
    /// With another given key, as found.
    pub others: u64,
    /// With none of the given keys, or damaged.
    pub unreadable: u64,
}

impl Resealed {
    /// Adds another count.
    pub(crate) fn add(&mut self, more: Self) {
        self.current = self.current.saturating_add(more.current);
        self.others = self.others.saturating_add(more.others);
        self.unreadable = self.unreadable.saturating_add(more.unreadable);
    }
}
