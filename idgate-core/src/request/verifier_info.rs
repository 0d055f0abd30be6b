//! Attestations about the verifier by third parties, for wallets (OpenID4VP 5.1, 5.11).

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// An entry of `verifier_info`, for example a registration certificate.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifierInfo {
    /// The format, for example `registration_cert`.
    pub format: String,
    /// The attestation; for `registration_cert` a compact JWT.
    pub data: String,
}

impl VerifierInfo {
    /// Creates an entry with the attestation `data` in this format.
    pub fn new(format: impl Into<String>, data: impl Into<String>) -> Self {
        Self { format: format.into(), data: data.into() }
    }
}
