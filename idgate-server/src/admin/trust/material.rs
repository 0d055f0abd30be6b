//! Keys from files.

use std::path::{Path, PathBuf};

use idgate_core::crypto::PublicKey;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::Jwk;
use idgate_core::shell::json::Tape;

use crate::admin::files::{in_file, read_at_most};
use crate::failure::Failure;
use crate::limits::MAX_KEY_FILE_BYTES;

/// A key and the name it came with.
type NamedKey = (PublicKey, Option<String>);

/// Returns all keys in these files.
pub(super) fn keys(jwks: &[PathBuf], pems: &[PathBuf]) -> Result<Vec<NamedKey>, Failure> {
    let mut keys = Vec::new();
    for path in jwks {
        let bytes = read(path)?;
        keys.extend(jwk_keys(&bytes).map_err(|why| in_file(path, why))?);
    }
    for path in pems {
        let bytes = read(path)?;
        keys.push((pem_key(&bytes).map_err(|why| in_file(path, why))?, None));
    }
    Ok(keys)
}

/// Returns the keys of a JWK or of a JWK Set (RFC 7517 5).
fn jwk_keys(text: &[u8]) -> Result<Vec<NamedKey>, String> {
    let mut tape = Tape::default();
    let root = tape.parse(text).map_err(|error| format!("is not strict JSON: {error}"))?;
    let root = tape.value(root);
    let Some(set) = root.get("keys") else {
        let jwk = Jwk::from_json(root).map_err(|error| error.to_string())?;
        return Ok(vec![checked(jwk)?]);
    };
    let mut keys = Vec::new();
    for (n, member) in set.elements().ok_or("has keys that are not an array")?.enumerate() {
        let jwk = Jwk::from_json(member).map_err(|error| format!("keys[{n}]: {error}"))?;
        keys.push(checked(jwk).map_err(|why| format!("keys[{n}]: {why}"))?);
    }
    if keys.is_empty() {
        return Err("is a JWK Set without keys".into());
    }
    Ok(keys)
}

fn checked(jwk: Jwk) -> Result<NamedKey, String> {
    on_curve(jwk.key).map(|key| (key, jwk.kid))
}

fn pem_key(bytes: &[u8]) -> Result<PublicKey, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not PEM")?;
    on_curve(PublicKey::from_pem(text).map_err(|error| error.to_string())?)
}

/// Refuses a key that could never verify anything.
fn on_curve(key: PublicKey) -> Result<PublicKey, String> {
    PROVIDER.check_key(&key).map(|()| key).map_err(|_| "the key is not a point on its curve".into())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_at_most(path, MAX_KEY_FILE_BYTES)
}
