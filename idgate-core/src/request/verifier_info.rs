//! What others attest of the verifier, for wallets (OpenID4VP 5.1, 5.11).

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// One entry of `verifier_info`, as a registration certificate.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifierInfo {
    /// What it is, as `registration_cert`.
    pub format: String,
    /// The attestation: for `registration_cert` a compact JWT.
    pub data: String,
}

impl VerifierInfo {
    /// An attestation `data` of that format.
    pub fn new(format: impl Into<String>, data: impl Into<String>) -> Self {
        Self { format: format.into(), data: data.into() }
    }
}
