//! Compact JWS (RFC 7515 7.1), signed without changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::codec::{base64url, from_base64url};
use crate::keys::SigningKey;

/// Signs the bytes of header and payload as given. Neither has to be JSON, and `alg` need not fit the
/// key.
pub fn sign_jws(key: &SigningKey, header: &str, payload: &str) -> String {
    let signing_input =
        format!("{}.{}", base64url(header.as_bytes()), base64url(payload.as_bytes()));
    let signature = base64url(&key.sign(signing_input.as_bytes()));
    format!("{signing_input}.{signature}")
}

/// The header parameter `x5c` of these certificates, leaf first (RFC 7515 4.1.6).
pub fn x5c<C: AsRef<[u8]>>(chain: &[C]) -> Value {
    chain.iter().map(|der| STANDARD.encode(der)).collect()
}

/// The header of a compact JWS, unverified.
pub fn header(jws: &str) -> Option<Value> {
    json_part(jws, 0)
}

/// The payload of a compact JWS, unverified.
pub fn payload(jws: &str) -> Option<Value> {
    json_part(jws, 1)
}

/// The compact JWS with its signature replaced by `change` of it.
pub fn with_signature(jws: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Option<String> {
    let (signing_input, signature) = jws.rsplit_once('.')?;
    let signature = change(from_base64url(signature)?);
    Some(format!("{signing_input}.{}", base64url(&signature)))
}

fn json_part(jws: &str, index: usize) -> Option<Value> {
    serde_json::from_slice(&from_base64url(jws.split('.').nth(index)?)?).ok()
}
