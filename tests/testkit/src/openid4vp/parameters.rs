//! The parameters of the request (5.1 to 5.8, 8.2, 8.3.1).

use serde_json::Value;

use super::findings::Findings;
use super::link::is_https;
use super::request::{Expected, Prefix, Request, text_of};
use super::{transaction_data, verifier_info};

/// The known parameters of a request. Any other is a warning.
const KNOWN: [&str; 15] = [
    "aud",
    "client_id",
    "client_metadata",
    "dcql_query",
    "exp",
    "iat",
    "nonce",
    "response_mode",
    "response_type",
    "response_uri",
    "state",
    "transaction_data",
    "verifier_info",
    "wallet_nonce",
    "iss",
];

/// Parameters that contradict the request. Each has its own check.
const FORBIDDEN: [&str; 3] = ["redirect_uri", "scope", "client_id_scheme"];

pub(super) fn check(request: &Request, expected: &Expected, findings: &mut Findings) {
    let text = |name: &str| text_of(request, name);
    findings.must("response_type", text("response_type") == "vp_token", text("response_type"));
    let mode = if expected.encrypted { "direct_post.jwt" } else { "direct_post" };
    findings.must("response_mode", text("response_mode") == mode, text("response_mode"));
    findings.must("response_uri", is_https(&request.response_uri), &request.response_uri);
    let prefix = expected.prefix.text();
    findings.must("client_id_form", request.client_id.starts_with(prefix), &request.client_id);
    if expected.prefix == Prefix::RedirectUri {
        let own = request.client_id == format!("{prefix}{}", request.response_uri);
        findings.must("client_id_response_uri", own, &request.client_id);
    }
    check_texts(request, findings);
    for name in FORBIDDEN {
        findings.must("forbidden_parameters", !request.parameters.contains_key(name), name);
    }
    for name in request.parameters.keys().map(String::as_str) {
        let known = KNOWN.contains(&name) || FORBIDDEN.contains(&name);
        findings.should("unknown_parameters", known, name);
    }
    transaction_data::check(request, expected, findings);
    if let Some(info) = request.parameters.get("verifier_info") {
        verifier_info::check(info, request, findings);
    }
}

/// `nonce` and `state` (5.2, 5.3).
fn check_texts(request: &Request, findings: &mut Findings) {
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    findings.must("nonce", plain(&request.nonce), "");
    let length = request.nonce.len();
    findings.should("nonce_length", (16..=43).contains(&length), length);
    let entropy = shannon(&request.nonce);
    findings.should("nonce_entropy", entropy >= 96.0, format!("{entropy:.0} bits"));
    let state = request.parameters.get("state").map(|state| state.as_str().unwrap_or_default());
    findings.must("state", state.is_none_or(plain), "");
    findings.should("state_sent", state.is_some(), "");
}

/// The Shannon entropy of the text's characters, times their number.
#[allow(clippy::cast_precision_loss)] // of some dozens
fn shannon(text: &str) -> f64 {
    let length = text.len() as f64;
    let of = |c: char| {
        let share = text.matches(c).count() as f64 / length;
        -share.log2()
    };
    text.chars().map(of).sum()
}

pub(super) fn members_of(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(|members| members.keys().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_the_characters() {
        assert!((shannon("aaaa")).abs() < 1e-9);
        assert!((shannon("abcd") - 8.0).abs() < 1e-9);
        assert!(shannon("exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA") > 150.0);
    }
}
