//! Whether the holder approved the request's transaction data: their hashes in the key binding JWT
//! (OpenID4VP 8.4, B.3.3).

use alloc::string::String;
use alloc::vec::Vec;

use super::expected::ExpectedSdJwtVc;
use crate::codec::base64url;
use crate::codec::json::Value;
use crate::crypto::{CryptoProvider, HashAlg};
use crate::error::{Check, Reason, VerifyError};
use crate::request::TransactionData;

/// The transaction data that the holder approves with this proof. Hashes count only if this
/// credential may sign; then each must be of requested data, and each once. [`check_all_agreed`]
/// checks that everything is approved, because the wallet chooses among the credentials that may
/// sign.
pub(super) fn agreed_to(
    proof: Value<'_, '_>,
    provider: &CryptoProvider,
    expected: &ExpectedSdJwtVc<'_>,
) -> Result<Vec<TransactionData>, VerifyError> {
    let asked = &expected.transaction_data;
    let Some(hashes) = proof.get("transaction_data_hashes").filter(|_| !asked.is_empty()) else {
        return Ok(Vec::new());
    };
    let hashes = hashes.elements().ok_or(mismatch("transaction_data_hashes is not an array"))?;
    let alg = named_alg(proof)?;
    let known: Vec<_> = asked
        .iter()
        .filter(|data| may_use(data, alg))
        .map(|data| (hash(provider, alg.unwrap_or(HashAlg::Sha256), &data.encoded), *data))
        .collect();
    let mut agreed: Vec<TransactionData> = Vec::new();
    for given in hashes {
        let given = given.as_str();
        let is_it = |text: &String| given.as_deref().is_some_and(|given| given == text);
        let Some((_, data)) = known.iter().find(|(text, _)| is_it(text)) else {
            return Err(mismatch(
                "transaction_data_hashes has a hash that matches no transaction data of the \
                 request",
            ));
        };
        if agreed.iter().any(|other| other.encoded == data.encoded) {
            return Err(mismatch("a hash of transaction data is repeated"));
        }
        agreed.push((*data).clone());
    }
    Ok(agreed)
}

/// Checks that exactly one credential approves each requested item. `agreed` has the items that the
/// credentials approve, one credential after another.
pub(super) fn check_all_agreed<'a>(
    asked: &[TransactionData],
    agreed: impl Iterator<Item = &'a TransactionData> + Clone,
) -> Result<(), VerifyError> {
    for asked in asked {
        match agreed.clone().filter(|agreed| agreed.encoded == asked.encoded).count() {
            0 => {
                return Err(mismatch(
                    "the hash of a requested transaction is in no credential's \
                     transaction_data_hashes",
                ));
            }
            1 => {}
            _ => {
                return Err(mismatch(
                    "the hash of a requested transaction is in several credentials' \
                     transaction_data_hashes",
                ));
            }
        }
    }
    Ok(())
}

fn mismatch(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::TransactionDataMismatch, Check::TransactionData, detail)
}

/// The algorithm that the holder names, if any.
fn named_alg(proof: Value<'_, '_>) -> Result<Option<HashAlg>, VerifyError> {
    let Some(alg) = proof.get("transaction_data_hashes_alg") else { return Ok(None) };
    let known = alg.as_str().and_then(|name| HashAlg::from_name(&name));
    known.map(Some).ok_or(mismatch("transaction_data_hashes_alg is not an accepted hash"))
}

/// The holder must name one of the offered algorithms; without an offer it is SHA-256.
fn may_use(data: &TransactionData, alg: Option<HashAlg>) -> bool {
    match alg {
        _ if data.hash_algs.is_empty() => alg.is_none_or(|alg| alg == HashAlg::Sha256),
        Some(alg) => data.hash_algs.contains(&alg),
        None => false,
    }
}

fn hash(provider: &CryptoProvider, alg: HashAlg, text: &str) -> String {
    base64url::encode(provider.hash(alg, text.as_bytes()).as_bytes())
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests;
