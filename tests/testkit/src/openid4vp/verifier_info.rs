//! `verifier_info` (5.1, 5.11).

use serde_json::Value;

use super::findings::Findings;
use super::parameters::members_of;
use super::request::Request;

pub(super) fn check(info: &Value, request: &Request, findings: &mut Findings) {
    let entries = info.as_array().cloned().unwrap_or_default();
    findings.must("verifier_info", !entries.is_empty(), "not an array, or empty");
    for entry in &entries {
        let format = entry["format"].as_str().is_some_and(|format| !format.is_empty());
        findings.must("verifier_info_format", format, &entry["format"]);
        let data = entry["data"].is_string() || entry["data"].is_object();
        findings.must("verifier_info_data", data, &entry["data"]);
        for name in members_of(entry) {
            let known = ["format", "data", "credential_ids"].contains(&name);
            findings.should("verifier_info_members", known, name);
        }
        let Some(ids) = entry.get("credential_ids") else { continue };
        let ids = ids.as_array().cloned().unwrap_or_default();
        let asked = |id: &Value| request.query.credentials.iter().any(|one| *id == *one.id);
        let fits = !ids.is_empty() && ids.iter().all(asked);
        findings.must("verifier_info_credential_ids", fits, &entry["credential_ids"]);
    }
}
