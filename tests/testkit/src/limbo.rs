//! The cases of x509-limbo (`limbo.json.gz`): certificates, CRLs, a time, and the expected verdict.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// For example `rfc5280::nc::permitted-dns-match`.
    pub id: String,
    /// In DER.
    pub leaf: Vec<u8>,
    /// In DER.
    pub intermediates: Vec<Vec<u8>>,
    /// In DER.
    pub roots: Vec<Vec<u8>>,
    /// In DER.
    pub crls: Vec<Vec<u8>>,
    /// As RFC 3339 text, if the case has a time.
    pub time: Option<String>,
    /// The maximum number of intermediates, if the case has one.
    pub max_chain_depth: Option<usize>,
    /// Whether the path is valid.
    pub succeeds: bool,
}

impl Case {
    /// The part of the id before the first `::`.
    pub fn group(&self) -> &str {
        self.id.split("::").next().unwrap_or_default()
    }
}

/// All cases of the suite at `IDGATE_VECTORS`, or in `../shared/vectors` of the repository. `None`:
/// there is no suite.
///
/// # Errors
/// The file has an unexpected form; the text says where.
pub fn cases() -> Option<Result<Vec<Case>, String>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let vectors = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let file = std::fs::read(vectors.join("x509-limbo/limbo.json.gz")).ok()?;
    Some(gunzip(&file).ok_or("no gzip file".into()).and_then(|json| read(&json)))
}

fn read(json: &[u8]) -> Result<Vec<Case>, String> {
    let suite: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let cases = suite.get("testcases").and_then(Value::as_array).ok_or("no testcases")?;
    let case = |value: &Value| case(value).ok_or(format!("unreadable: {:?}", value.get("id")));
    cases.iter().map(case).collect()
}

fn case(value: &Value) -> Option<Case> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let depth = value.get("max_chain_depth").and_then(Value::as_u64);
    Some(Case {
        id: text("id")?.into(),
        leaf: pem(value.get("peer_certificate")?)?,
        intermediates: pems(value.get("untrusted_intermediates")?)?,
        roots: pems(value.get("trusted_certs")?)?,
        crls: pems(value.get("crls")?)?,
        time: text("validation_time").map(str::to_owned),
        max_chain_depth: depth.and_then(|depth| usize::try_from(depth).ok()),
        succeeds: text("expected_result")? == "SUCCESS",
    })
}

fn pems(list: &Value) -> Option<Vec<Vec<u8>>> {
    list.as_array()?.iter().map(pem).collect()
}

/// The one block of a PEM text (RFC 7468 2).
fn pem(text: &Value) -> Option<Vec<u8>> {
    let inside = |line: &&str| !line.is_empty() && !line.starts_with("-----");
    let base64: String = text.as_str()?.lines().map(str::trim).filter(inside).collect();
    STANDARD.decode(base64).ok()
}

/// The one member of a gzip file (RFC 1952 2.3), which may have a file name and no other extras.
fn gunzip(file: &[u8]) -> Option<Vec<u8>> {
    const FILE_NAME: u8 = 8;
    let (header, rest) = file.split_at_checked(10)?;
    let [0x1f, 0x8b, 8, flags, ..] = header else { return None };
    let member = match *flags {
        0 => rest,
        FILE_NAME => rest.split_at_checked(rest.iter().position(|byte| *byte == 0)? + 1)?.1,
        _ => return None,
    };
    miniz_oxide::inflate::decompress_to_vec(member).ok()
}
