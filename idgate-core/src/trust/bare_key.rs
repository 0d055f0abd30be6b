//! Bare issuer keys of SD-JWT VC, bound to an issuer by the operator.

use alloc::string::String;

use crate::crypto::PublicKey;

/// An issuer key that the operator trusts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustedKey {
    /// The key; it alone decides the algorithm.
    pub key: PublicKey,
    /// Selects this key when a credential names it.
    pub kid: Option<String>,
    /// Whether it serves test-mode sessions only.
    pub test_only: bool,
}

impl TrustedKey {
    /// A key that serves both modes.
    pub fn new(key: PublicKey) -> Self {
        Self { key, kid: None, test_only: false }
    }

    /// With the identifier that credentials name it by.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// For test-mode sessions only.
    #[must_use]
    pub fn for_test_only(mut self) -> Self {
        self.test_only = true;
        self
    }
}
