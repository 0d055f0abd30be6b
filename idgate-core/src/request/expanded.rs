//! Writes credentials as a tenant could have written them without presets.

use alloc::string::String;

use crate::codec::json::json_text;
use crate::request::object::{Object, text_of};
use crate::request::presentation_request::CredentialRequest;

/// A JSON array of the credentials.
pub(super) fn credentials(credentials: &[CredentialRequest]) -> String {
    let mut body = Object::default();
    body.extend("credentials", credentials.iter().map(text));
    body.text_of("credentials").unwrap_or_else(|| "[]".into())
}

fn text(asked: &CredentialRequest) -> String {
    let mut written = Object::default();
    written.set("id", &asked.id);
    written.set("format", asked.format.name());
    written.set("issuer_id", asked.issuer_id.as_str());
    if let Some(doc_type) = &asked.doc_type {
        written.set("doc_type", doc_type.as_str());
    }
    if let Some(namespace) = &asked.namespace {
        written.set("namespace", namespace.as_str());
    }
    written.extend("claims", asked.claims.iter().map(|name| json_text(&**name)));
    for (name, filter) in &asked.claim_filters {
        written.put_text("claim_filters", name, filter.source());
    }
    for (name, path) in &asked.claim_paths {
        written.put_text("claim_paths", name, &text_of(path));
    }
    let subject_paths =
        asked.subject_claim_paths.iter().map(|path| json_text(&path.segments().join(".")));
    if subject_paths.len() > 0 {
        written.extend("subject_claim_paths", subject_paths);
    }
    if let Some(alg) = asked.alg {
        written.set("alg", &alg);
    }
    written.text()
}
