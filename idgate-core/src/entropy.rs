//! Randomness is handed in: the core never makes its own.

use core::fmt;

/// A source of cryptographically secure random bytes.
pub trait Entropy {
    /// Fills `out` completely, or fails; a partly filled buffer is never used.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable>;
}

/// The source of randomness failed. The operator must act.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct EntropyUnavailable;

impl EntropyUnavailable {
    /// For implementors of [`Entropy`].
    pub const fn new() -> Self {
        Self
    }
}

impl Default for EntropyUnavailable {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for EntropyUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no random bytes available; check the operating system's random source")
    }
}

impl core::error::Error for EntropyUnavailable {}
