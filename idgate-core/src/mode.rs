//! Whether a session counts.

/// Live, or a test.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums)] // a third mode would be a break anyway
pub enum Mode {
    /// For real. Material and keys for tests do not serve it.
    Live,
    /// For trying things out.
    Test,
}

impl Mode {
    /// Whether it is for real.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }
}
