//! What a holder is asked to agree to, with the presentation as the signature (OpenID4VP 8.4).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::crypto::HashAlg;

/// One thing to agree to. The proof of one of the credentials carries its hash (OpenID4VP B.3.3).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TransactionData {
    /// The base64url text exactly as the wallet gets it: the hash is over this text.
    pub encoded: String,
    /// The tenant's ids of the credentials, one of which signs.
    pub credential_ids: Vec<String>,
    /// The hash algorithms that the wallet may choose from; empty: SHA-256, which then goes without
    /// saying.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hash_algs: Vec<HashAlg>,
}
