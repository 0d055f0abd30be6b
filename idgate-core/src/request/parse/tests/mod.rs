//! Both forms of a session request: accepted requests, their defaults, and one refusal per rule.

mod credentials;
mod dc_api;
mod forms;
mod on_unknown;
mod presets;
mod profiles;
#[cfg(any(feature = "aws-lc-rs", feature = "rustcrypto"))]
mod trust;

use serde_json::{Value, json};

use super::*;
use crate::crypto::Alg;
use crate::request::fixtures::{request, trust};
use crate::request::{CredentialFormat, SubjectPath};

impl PresentationRequest {
    /// The same for a verifier that supports only `draft`.
    pub(crate) fn parse(
        body: &[u8],
        trust: &TrustSnapshot,
        livemode: bool,
    ) -> Result<Self, RequestError> {
        Self::parse_for(body, trust, livemode, &SpokenProfiles::default())
    }
}

fn parse(body: &str, livemode: bool) -> Result<PresentationRequest, RequestError> {
    PresentationRequest::parse(body.as_bytes(), &trust(), livemode)
}

/// Asserts that `body` is refused with this code at this path.
#[track_caller]
fn refused(body: &Value, code: &str, path: &str) -> String {
    let error = parse(&body.to_string(), true).expect_err(&body.to_string());
    assert_eq!((error.code.as_str(), error.path.as_str()), (code, path), "{body}: {error}");
    error.to_string()
}

#[track_caller]
fn invalid(body: &Value, path: &str) -> String {
    refused(body, "invalid_request", path)
}

/// A custom request for one valid SD-JWT VC with these members changed; `null` stays `null`.
fn sd_jwt(changes: Value) -> Value {
    let base = json!({"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["a"]});
    json!({"credentials": [changed(base, changes)]})
}

fn mdoc(changes: Value) -> Value {
    let base = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    json!({"credentials": [changed(base, changes)]})
}

fn changed(mut base: Value, changes: Value) -> Value {
    base.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    base
}

fn legacy(changes: Value) -> Value {
    changed(json!({"issuer_id": "https://one.example"}), changes)
}

fn first(body: Value) -> CredentialRequest {
    request(body).credentials.remove(0)
}

/// Two valid SD-JWT VCs `a` and `b` with these members at top level and in the first.
fn pair(top: Value, first: Value) -> Value {
    let credential =
        |id: &str| json!({"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["x"], "id": id});
    changed(json!({"credentials": [changed(credential("a"), first), credential("b")]}), top)
}
