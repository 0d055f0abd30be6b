//! The transactions that a holder is asked to approve; the presentation is the signature (OpenID4VP
//! 8.4).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::codec::base64url;
use crate::codec::json::{Tape, Value, json_text};
use crate::crypto::HashAlg;

/// A transaction to approve. The proof of one of the credentials contains its hash (OpenID4VP
/// B.3.3).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TransactionData {
    /// The base64url text exactly as the wallet receives it; the hash is over this text.
    pub encoded: String,
    /// The tenant's ids of the credentials that may sign; one of them signs.
    pub credential_ids: Vec<String>,
    /// The hash algorithms that the wallet may choose from; empty: SHA-256, which is then implied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hash_algs: Vec<HashAlg>,
}

impl TransactionData {
    /// The JSON text of the object as the tenant wrote it, with the tenant's ids.
    pub(crate) fn as_asked(&self) -> Option<String> {
        let bytes = base64url::decode(&self.encoded).ok()?;
        let mut tape = Tape::default();
        let id = tape.parse(&bytes).ok()?;
        Some(with_ids(tape.value(id), &self.credential_ids))
    }
}

/// The JSON text of a transaction data object with other `credential_ids`.
pub(super) fn with_ids(object: Value<'_, '_>, ids: &[String]) -> String {
    let mut text = String::new();
    for (name, value) in object.members().into_iter().flatten() {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push('"');
        text.push_str(name.source());
        text.push_str("\":");
        if name.is("credential_ids") {
            text.push_str(&json_text(ids));
        } else {
            value.write_compact(&mut text);
        }
    }
    text.push('}');
    text
}
