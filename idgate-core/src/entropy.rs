//! The source of randomness, which is always an argument: the core has none of its own. The feature
//! `os-entropy` adds one that callers can pass.

use core::fmt;

/// A source of cryptographically secure random bytes.
pub trait Entropy {
    /// Fills `out` completely or fails; a partly filled buffer is never used.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable>;
}

/// The error when the source of randomness fails. The operator must act.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct EntropyUnavailable;

impl EntropyUnavailable {
    /// Creates the error, for implementations of [`Entropy`].
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

/// The operating system's random source, which callers pass as an argument.
///
/// ```
/// use idgate_core::{Entropy, OsEntropy};
///
/// let (mut one, mut other) = ([0; 32], [0; 32]);
/// OsEntropy.fill(&mut one)?;
/// OsEntropy.fill(&mut other)?;
/// assert_ne!(one, other);
/// # Ok::<(), idgate_core::EntropyUnavailable>(())
/// ```
#[cfg(feature = "os-entropy")]
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it has no state, and is written as a value")]
pub struct OsEntropy;

#[cfg(feature = "os-entropy")]
impl Entropy for OsEntropy {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(out).map_err(|_| EntropyUnavailable)
    }
}
