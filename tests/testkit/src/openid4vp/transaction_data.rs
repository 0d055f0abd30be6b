//! `transaction_data` (5.1, 8.4).

use serde_json::Value;

use super::findings::Findings;
use super::request::{Expected, Request};
use crate::codec::from_base64url;

pub(super) fn check(request: &Request, expected: &Expected, findings: &mut Findings) {
    let data = request.parameters.get("transaction_data");
    findings.must("transaction_data", data.is_some() == expected.transaction_data, data.is_some());
    let Some(data) = data else { return };
    let sound = data.as_array().is_some_and(|entries| {
        !entries.is_empty() && entries.iter().all(|entry| is_sound(entry, request))
    });
    findings.must("transaction_data_shape", sound, data);
}

/// The base64url text of an object with a type, and with credentials of the query.
fn is_sound(entry: &Value, request: &Request) -> bool {
    let object = entry.as_str().and_then(from_base64url);
    let object: Option<Value> = object.and_then(|json| serde_json::from_slice(&json).ok());
    let Some(object) = object.filter(Value::is_object) else { return false };
    let asked = |id: &Value| request.query.credentials.iter().any(|one| *id == *one.id);
    let kind = object.get("type").and_then(Value::as_str);
    let ids = object.get("credential_ids").and_then(Value::as_array);
    kind.is_some_and(|kind| !kind.is_empty())
        && ids.is_some_and(|ids| !ids.is_empty() && ids.iter().all(asked))
}
