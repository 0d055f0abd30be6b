//! `idgate trust remove`: an entry, or one piece of it by its hash.

use std::fmt::Write as _;

use idgate_core::UnixMillis;
use serde_json::{Value, json};

use super::not_found;
use crate::admin::output::Output;
use crate::digest::hex;
use crate::failure::Failure;
use idgate_store::{OperatorStore, RemovedMaterial};

/// Removes the whole entry.
pub(super) fn entry(
    store: &mut OperatorStore,
    issuer_id: &str,
    now: UnixMillis,
) -> Result<Output, Failure> {
    if !store.remove_trust(issuer_id, now)? {
        return Err(not_found(issuer_id));
    }
    let json = json!({ "issuer_id": issuer_id, "removed": true });
    Ok(Output::new(json, format!("{issuer_id} is no longer trusted\n")))
}

/// Removes the material with this hash. The rest of the entry stays, with its attributes.
pub(super) fn material(
    store: &mut OperatorStore,
    issuer_id: &str,
    sha256: &[u8; 32],
    now: UnixMillis,
) -> Result<Output, Failure> {
    let removed = store.remove_trust_material(issuer_id, sha256, now)?;
    let removed = removed.ok_or_else(|| not_found(issuer_id))?;
    if removed.is_empty() {
        return Err(Failure::NotFound(format!(
            "{issuer_id} has nothing with the hash {}; `idgate trust show {issuer_id}` prints the \
             hash of each key, certificate, list and CRL",
            hex(sha256)
        )));
    }
    let mut text = String::new();
    for material in &removed {
        let _ = writeln!(text, "{issuer_id}: removed {}", told(material));
    }
    let materials: Vec<Value> = removed.iter().map(to_json).collect();
    let json = json!({ "issuer_id": issuer_id, "removed": true, "materials": materials });
    let mut output = Output::new(json, text);
    if store.trust_entry(issuer_id)?.is_some_and(|record| !record.has_material()) {
        output.warnings.push(format!(
            "{issuer_id}: has no key and no certificate left and refuses everything; add one, or run \
             `idgate trust remove {issuer_id}`"
        ));
    }
    Ok(output)
}

/// Parses a hash in the form that `trust show` prints.
pub(super) fn sha256(text: &str) -> Result<[u8; 32], String> {
    let wrong =
        || String::from("must be the 64 hexadecimal digits that `idgate trust show` prints");
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|n| u8::try_from(n).ok())).collect();
    let digits = digits.filter(|digits| digits.len() == 64).ok_or_else(wrong)?;
    let (pairs, _) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| (high << 4) | low).collect();
    bytes.try_into().map_err(|_| wrong())
}

fn told(material: &RemovedMaterial) -> String {
    let kind = match material.kind.as_str() {
        "root_file" => "the root",
        "pinned_signer" => "the pinned signer",
        "sd_jwt_root" => "the root for SD-JWT VC",
        "sd_jwt_signer" => "the pinned issuer of SD-JWT VC",
        "status_root" => "the root for status lists",
        "crl" => "the CRL",
        "key" => "the key",
        // The next import of the list adds such a root again.
        "master_list" if material.roots == 0 => "the root (of the Master List)",
        "vical" if material.roots == 0 => "the root (of the VICAL)",
        "master_list" => "the Master List",
        "vical" => "the VICAL",
        "trusted_list" => "the trusted list",
        other => other,
    };
    let roots = match material.roots {
        0 => String::new(),
        count if material.kind == "trusted_list" => format!(" with its {count} certificates"),
        count => format!(" with its {count} roots"),
    };
    format!("{kind} {}{roots}", hex(&material.sha256))
}

fn to_json(material: &RemovedMaterial) -> Value {
    json!({
        "kind": material.kind,
        "sha256": hex(&material.sha256),
        "roots": material.roots,
    })
}
