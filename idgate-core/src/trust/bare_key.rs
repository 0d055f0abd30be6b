//! Issuer keys of SD-JWT VC without a certificate, assigned to an issuer by the operator.

use alloc::string::String;

use crate::crypto::PublicKey;

/// An issuer key that the operator trusts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustedKey {
    /// The key; it alone decides the algorithm.
    pub key: PublicKey,
    /// The key identifier by which a credential selects this key.
    pub kid: Option<String>,
    /// Whether the key is for test-mode sessions only.
    pub test_only: bool,
}

impl TrustedKey {
    /// Creates a key for both modes.
    pub fn new(key: PublicKey) -> Self {
        Self { key, kid: None, test_only: false }
    }

    /// Sets the identifier that credentials use.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// Restricts the key to test-mode sessions.
    #[must_use]
    pub fn for_test_only(mut self) -> Self {
        self.test_only = true;
        self
    }
}
