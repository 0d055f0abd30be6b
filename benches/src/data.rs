//! The fixed data set (`../shared/perf/data`, override `IDGATE_PERF_DATA`), and larger
//! presentations that the bench makes itself.

use std::fs;
use std::path::PathBuf;

use idgate_core::crypto::PublicKey;
use idgate_core::shell::Jwk;
use serde_json::Value;

/// One presentation, with the data that a verifier must know.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) presentation: String,
    pub(crate) issuer_key: PublicKey,
    pub(crate) nonce: String,
    pub(crate) audience: String,
    pub(crate) iss: String,
    pub(crate) claims: Vec<String>,
    /// Seconds since 1970.
    pub(crate) presented_at: u64,
}

/// The folder of the data set.
fn folder() -> PathBuf {
    std::env::var_os("IDGATE_PERF_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/perf/data")),
        PathBuf::from,
    )
}

fn read(name: &str) -> Result<String, String> {
    String::from_utf8(read_bytes(name)?).map_err(|_| format!("{name} is not UTF-8"))
}

/// A file of the data set.
pub(crate) fn read_bytes(name: &str) -> Result<Vec<u8>, String> {
    let path = folder().join(name);
    fs::read(&path).map_err(|error| {
        format!("{}: {error}; set IDGATE_PERF_DATA to the data set", path.display())
    })
}

/// The part of the manifest that all presentations share.
pub(crate) fn manifest() -> Result<Value, String> {
    serde_json::from_str(&read("manifest.json")?).map_err(|error| error.to_string())
}

/// A presentation of the data set, by file name without extension.
pub(crate) fn load(name: &str) -> Result<Input, String> {
    let manifest = manifest()?;
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let alg = name.split('_').nth(1).unwrap_or_default();
    let jwk = read(&format!("issuer_{alg}.public.jwk.json"))?;
    let issuer_key = Jwk::parse(jwk.as_bytes()).map_err(|error| error.to_string())?.key;
    let presentation = read(&format!("{name}.txt"))?.trim_end().to_owned();
    Ok(Input {
        name: name.replace("sdjwt", "sd_jwt"),
        claims: disclosed_names(&presentation),
        presented_at: key_binding_iat(&presentation).ok_or("the key binding JWT has no iat")?,
        presentation,
        issuer_key,
        nonce: text("nonce"),
        audience: text("aud"),
        iss: text("iss"),
    })
}

fn json_part(text: &str) -> Option<Value> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The claims that a session could request: at most a hundred of the disclosed names.
pub(crate) fn disclosed_names(presentation: &str) -> Vec<String> {
    let parts: Vec<&str> = presentation.split('~').collect();
    let disclosures = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
    let names = disclosures
        .iter()
        .filter_map(|text| json_part(text)?.as_array()?.get(1)?.as_str().map(ToOwned::to_owned));
    names.take(100).collect()
}

fn key_binding_iat(presentation: &str) -> Option<u64> {
    let payload = presentation.rsplit('~').next()?.split('.').nth(1)?;
    json_part(payload)?.get("iat")?.as_u64()
}
