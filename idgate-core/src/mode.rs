//! Live or test.

/// The mode of a session: live or test.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums)] // a third mode would be a break anyway
pub enum Mode {
    /// A session for real use. Keys and certificates for tests are not accepted.
    Live,
    /// A session for testing. Keys and certificates for tests are accepted too.
    Test,
}

impl Mode {
    /// Whether the session is live.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }
}
